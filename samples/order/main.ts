import { setTimeout as pause } from 'node:timers/promises';
import { type Client, Holdfast, HoldfastError, type RunDescription } from '../../index';
import { printHistory } from '../history-table';
import { Ledger } from './ledger';
import { Approvals, OrderFlow } from './order-flow';
import { settings } from './settings';

async function main() {
  const holdfast = await Holdfast.open({ flows: [OrderFlow], store: settings.store });
  const { client } = holdfast;
  const { orderId, found } = await findOrder(client);
  if (found) console.log(`${orderId} was not finished: it goes on where it was.\n`);
  else {
    console.log(`${orderId} is new.\n`);
    await client.start(OrderFlow, orderId, { id: orderId, amount: 42, item: settings.item });
  }
  await playApprover(client, orderId);
  const output = await client.result(OrderFlow, orderId);
  console.log(`\n${orderId} has completed:`, output, '\n');
  printHistory(await client.history(orderId));
  await holdfast.close();
  printLedger(orderId);
  console.log(`
Try the crash: npm start -- --slow, and press ctrl-c in the middle or kill -9 the process; then npm start again.
Try the refund: npm start -- --refuse, where the carrier does not take the parcel.`);
}

/** The first order that is not finished, or the next number. */
async function findOrder(client: Client): Promise<{ orderId: string; found: boolean }> {
  for (let number = 1; ; number++) {
    const orderId = `order-${number}`;
    const order = await describe(client, orderId);
    if (!order || order.status === 'running') return { orderId, found: order !== undefined };
  }
}

async function describe(client: Client, orderId: string): Promise<RunDescription | undefined> {
  try {
    return await client.describe(orderId);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'FLOW_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Lets the first 24 hours pass at once, and approves after the reminder. Safe to repeat: both have ids. */
async function playApprover(client: Client, orderId: string): Promise<void> {
  if (await waits(client, orderId, 'Ship-1')) {
    console.log('  (the sample lets 24 hours pass)');
    await client.skipTimer(orderId, 'Ship-1', 'reminder', { requestId: `${orderId}/a-day-later` });
  }
  if (await waits(client, orderId, 'Ship-2')) {
    console.log('  (the sample approves)');
    await client.publish(OrderFlow, orderId, Approvals, { by: 'mara' }, { messageId: `${orderId}/approval` });
  }
}

/** True once that execution waits, false when it is past that. */
async function waits(client: Client, orderId: string, stepExecutionId: string): Promise<boolean> {
  for (;;) {
    const { status, steps, scheduled } = await client.describe(orderId);
    const step = steps.find((each) => each.stepExecutionId === stepExecutionId);
    if (step?.state === 'waiting') return true;
    const [name, number] = stepExecutionId.split('-');
    const isPast = step ? step.method === 'execute' : (scheduled[name!] ?? 0) >= Number(number);
    if (isPast || status !== 'running') return false;
    await pause(20);
  }
}

function printLedger(orderId: string): void {
  console.log(`\nWhat took place outside (${settings.ledger}), each once:`);
  for (const { effect, orderId: of, idempotencyKey, pid } of new Ledger(settings.ledger).entries()) {
    if (of === orderId) console.log(`  ${effect.padEnd(7)} by process ${pid}, key ${idempotencyKey}`);
  }
}

main().catch((error) => {
  console.error(error instanceof HoldfastError ? `${error.code}: ${error.message}\n${error.fix}` : error);
  process.exitCode = 1;
});
