declare const why: unique symbol;

/** A compile error that says its reason: nothing can be assigned to it, and the compiler prints its text. */
export interface Problem<Text> {
  readonly [why]: Text;
}

/** `void`: a Step without input, an RPC without answer. */
export type Nothing = ReturnType<() => void>;

type Leaf =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  | Nothing
  | Date
  | RegExp
  | Error
  | Uint8Array
  | ArrayBuffer;

/**
 * The paths of T that cannot be stored, as text; `never` when all can (A3). Looks six levels deep; what hides behind `any`,
 * `unknown` or deeper is found when the value is stored.
 */
export type Unstorable<T, At extends string = 'value', Depth extends 0[] = []> = 0 extends 1 & T
  ? never
  : unknown extends T
    ? never
    : Depth['length'] extends 6
      ? never
      : T extends Leaf
        ? never
        : T extends ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
          ? `${At} is a function: functions cannot be stored`
          : T extends symbol
            ? `${At} is a symbol: symbols cannot be stored`
            : T extends PromiseLike<unknown>
              ? `${At} is a promise: await it first`
              : T extends ReadonlyMap<infer K, infer V>
                ? Unstorable<K, `${At}.<key>`, [...Depth, 0]> | Unstorable<V, `${At}.<value>`, [...Depth, 0]>
                : T extends ReadonlySet<infer V>
                  ? Unstorable<V, `${At}.<item>`, [...Depth, 0]>
                  : T extends readonly (infer V)[]
                    ? Unstorable<V, `${At}[]`, [...Depth, 0]>
                    : T extends object
                      ? { [K in keyof T & string]-?: Unstorable<T[K], `${At}.${K}`, [...Depth, 0]> }[keyof T & string]
                      : never;

/** `unknown` when T can be stored, else a `Problem` that names each offending path. */
export type MustStore<T, At extends string> = [Unstorable<T, At>] extends [never]
  ? unknown
  : Problem<Unstorable<T, At>>;
