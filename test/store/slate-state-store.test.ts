import { openStore } from '../../lib/store/open-store';
import { describeStateStore } from '../support/store-conformance';
import { temporaryFolder } from '../support/temporary-folder';

describeStateStore('SlateDB in a folder', async () => {
  const folder = await temporaryFolder();
  return { open: () => openStore(`file:${folder.path}/state`), remove: folder.remove };
});
