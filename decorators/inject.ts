import type { Token } from '../lib/authoring';

/** What a container gives for a list of tokens; any for those that are not classes. */
export type Resolved<D extends readonly Token[]> = {
  -readonly [K in keyof D]: D[K] extends abstract new (...args: any[]) => infer T ? T : any;
};
