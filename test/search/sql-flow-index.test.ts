import { openIndex } from '../../lib/search/open-index';
import { describeFlowIndex } from '../support/index-conformance';
import { PostgresServer } from '../support/postgres-server';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

describe('SQL', () => {
  let folder: TemporaryFolder;
  let server: PostgresServer;

  before(async function () {
    this.timeout(180_000);
    folder = await temporaryFolder();
    server = await PostgresServer.start();
  });
  after(async () => {
    await server?.stop();
    await folder.remove();
  });

  describeFlowIndex('SQLite', (place) => openIndex(`sqlite:${folder.path}/${place}/index.db`));
  describeFlowIndex('PostgreSQL', (place) => openIndex(server.url, place));
});
