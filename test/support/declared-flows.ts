import type { FlowClass } from '../../index';
import { callerFile } from './caller-file';

export interface Declared {
  readonly file: string;
  readonly title: string;
  readonly flows: readonly FlowClass[];
}

const declared = new Map<string, readonly FlowClass[]>();

/** Remembers the Flows of a `describe`, so that another process finds them when it has loaded the file. Gives the file. */
export function declareFlows(title: string, flows: readonly FlowClass[], except: string): string {
  const file = callerFile([__filename, except]);
  declared.set(`${file} ${title}`, flows);
  return file;
}

export function declaredFlows(file: string, title: string): readonly FlowClass[] {
  const flows = declared.get(`${file} ${title}`);
  if (!flows) throw new Error(`${file} has no describe ${title}.`);
  return flows;
}
