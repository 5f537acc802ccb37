import { Flow, Query, Rpc } from '../../../decorators';

const hidden = Symbol('hidden');

@Flow()
class CallFlow {
  @Rpc()
  @Query()
  both() {}

  @Rpc({ name: 'cancel' })
  stop() {}

  @Rpc({ aliases: ['stopped'] })
  cancel() {}

  @Query({ name: 'stopped' })
  state() {}

  @Rpc()
  [hidden]() {}

  @Rpc()
  // biome-ignore lint/suspicious/noThenProperty: the point of the test
  then() {}
}

export const flows = [CallFlow];
