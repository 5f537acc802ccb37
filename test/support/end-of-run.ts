import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

const graceMs = 30_000;

/**
 * A run ends when its tests have ended. What a test has left behind would keep the process alive, for as long as it lives:
 * after a while it is named, and the run ends with the code that its tests gave.
 */
export const mochaHooks = {
  afterAll(): void {
    setTimeout(() => {
      console.error('The tests have ended, but something of theirs is still there:', leftBehind());
      process.exit();
    }, graceMs).unref();
  },
};

function leftBehind(): unknown[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): object[] };
  const named = handles.call(process).map((handle) => {
    const { spawnargs, pid } = handle as ChildProcess;
    if (spawnargs) return `process ${pid}: ${spawnargs.join(' ').slice(0, 300)}`;
    const { remoteAddress, remotePort, localPort } = handle as Socket;
    return `${handle.constructor.name} ${remoteAddress ?? ''}:${remotePort ?? ''} from ${localPort ?? ''}`;
  });
  return [...named, ...process.getActiveResourcesInfo()];
}
