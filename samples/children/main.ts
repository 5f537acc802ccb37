import {
  allOf,
  Flow,
  gracefulComplete,
  Holdfast,
  Step,
  type StepContext,
  startSubFlow,
  subFlow,
  Timer,
  until,
} from '../../index';
import { printHistory } from '../history-table';

/** One parcel: a Flow of its own, with its own history. */
@Step({ name: 'Deliver', retry: { initialInterval: '50ms', nonRetryable: ['AddressUnknown'] } })
class DeliverStep {
  waitFor(parcel: string) {
    return until(Timer.after(parcel.length));
  }

  execute(parcel: string) {
    if (parcel === 'piano') throw Object.assign(new Error('nobody lives there'), { name: 'AddressUnknown' });
    return gracefulComplete(`${parcel} delivered`);
  }
}

@Flow({ name: 'parcel' })
class ParcelFlow {
  static readonly start = DeliverStep;
}

/** Waits for all its parcels, in whatever way they end; a parcel that fails does not fail the shipment. */
@Step({ name: 'Ship' })
class ShipStep {
  waitFor(parcels: string[]) {
    return allOf(...parcels.map((parcel) => subFlow(ParcelFlow, parcel, { parentClose: 'terminate', id: parcel })));
  }

  execute(parcels: string[], ctx: StepContext) {
    // This one nobody waits for; it runs on when the shipment has closed.
    const survey = startSubFlow(ParcelFlow, 'survey', { parentClose: 'abandon', flowId: `survey of ${ctx.flowId}` });
    console.log(`  started ${survey}`);
    return gracefulComplete(
      parcels.map((parcel) => {
        const { status, output, error } = ctx.subFlow<string>(parcel)!;
        return output ?? `${parcel} ${status}: ${error?.message}`;
      }),
    );
  }
}

@Flow({ name: 'shipment' })
class ShipmentFlow {
  static readonly start = ShipStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [ShipmentFlow, ParcelFlow], store: process.argv[2] ?? 'memory:' });
  const { client } = holdfast;
  const flowId = `shipment-${Date.now()}`;
  await client.start(ShipmentFlow, flowId, ['lamp', 'chair', 'piano', 'books']);
  console.log(await client.result(ShipmentFlow, flowId));
  console.log(await client.result(ParcelFlow, `survey of ${flowId}`));
  printHistory(await client.history(flowId));
  await holdfast.close();
}

main();
