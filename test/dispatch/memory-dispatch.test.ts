import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { describeDispatch } from '../support/dispatch-conformance';

let shared: MemoryDispatch;

before(() => {
  shared = new MemoryDispatch();
});

describeDispatch('memory', async () => ({ dispatch: shared, close() {} }));
