import { callErrands, senderErrands } from './client-calls';
import { type Errand, errandsFor } from './client-work';
import type { Random } from './random';
import { drawFeatures, generateProgram, generateRoller, sharedChildren } from './workload/generate-program';
import type { Programs } from './workload/program';

/** What the flows of a run do and what clients ask of them, drawn by its seed; `flows`: only the first so many. */
export function drawWork(random: Random, programs: Programs, chaosMs: number, flows = Number.MAX_VALUE): Errand[] {
  const features = drawFeatures(random.fork());
  const shared = features.children ? sharedChildren(random.fork(), programs) : [];
  const rolls = random.chance(0.15);
  const count = random.between(1, rolls ? 2 : 4);
  const errands: Errand[] = [];
  for (let number = 0; number < count; number++) {
    const own = random.fork();
    if (number >= flows) continue;
    const program = generateProgram(own, number, features, programs, shared);
    errands.push(...errandsFor(program, own, chaosMs));
    errands.push(...callErrands(program, own.fork(), chaosMs, programs, shared, features.children));
  }
  const own = random.fork();
  if (rolls && count < flows) errands.push(...senderErrands(generateRoller(own, programs), own));
  return errands;
}
