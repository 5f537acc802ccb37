import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Ended {
  readonly killed: boolean;
  readonly output: string;
}

/**
 * Runs a program and kills it (`kill -9`) `delayMs` after it has printed a line that starts with `mark`, or after its start
 * where there is no mark; null: lets it end. Rejects when it ends otherwise than well or by that kill.
 */
export function runAndKill(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
  mark: string | null,
  delayMs: number | null,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, program, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let armed = false;
    let timer: NodeJS.Timeout | undefined;
    const arm = () => {
      if (armed || delayMs === null) return;
      armed = true;
      timer = setTimeout(() => child.kill('SIGKILL'), delayMs);
    };
    if (mark === null) arm();
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`;
      if (mark !== null && line.startsWith(mark)) arm();
    });
    child.stderr.on('data', (data) => {
      output += data;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0 || (signal === 'SIGKILL' && armed)) resolve({ killed: signal === 'SIGKILL', output });
      else reject(new Error(`${program[0]} ended with ${code ?? signal}:\n${output.slice(-4_000)}`));
    });
  });
}
