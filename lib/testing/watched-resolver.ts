import type { Class, HandlerResolver, Resolved } from '../ports';
import type { Activity } from './activity';

/** Knows which handlers run: a call asks for its handler first and lets it go last. */
export class WatchedResolver implements HandlerResolver {
  private readonly running = new Map<Class, number>();

  constructor(
    private readonly inner: HandlerResolver,
    private readonly activity: Activity,
  ) {}

  adopt(classes: readonly Class[]): void {
    this.inner.adopt(classes);
  }

  async resolve<T>(type: Class<T>): Promise<Resolved<T>> {
    this.change(type, 1);
    try {
      const resolved = await this.inner.resolve(type);
      return {
        handler: resolved.handler,
        release: async () => {
          try {
            await resolved.release?.();
          } finally {
            this.change(type, -1);
          }
        },
      };
    } catch (error) {
      this.change(type, -1);
      throw error;
    }
  }

  /** Names of the classes whose methods run, each as often as it does. */
  get names(): string[] {
    return [...this.running].flatMap(([type, count]) => Array<string>(count).fill(type.name));
  }

  private change(type: Class, by: number): void {
    this.running.set(type, (this.running.get(type) ?? 0) + by);
    this.activity.note();
  }
}
