import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { describeFlowIndex } from '../support/index-conformance';

describeFlowIndex('memory', async () => new MemoryFlowIndex(), { shared: false });
