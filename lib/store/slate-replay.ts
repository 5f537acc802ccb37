/** Files of the log are read about as fast as they were written. */
const mostMs = 2_000;
/** However fast they were written: reading one takes five requests. */
const mostFiles = 500;
/** So few are read without noticing. */
const fewFiles = 8;

/**
 * What the next owner of a database has to read again: SlateDB keeps its log until 4 MiB of tables are full, which are
 * thousands of small files and more than a minute on S3. Tables that are written early keep the opening to seconds.
 */
export class SlateReplay {
  private files = 0;
  private shortening: Promise<void> | undefined;

  /** `flush` writes what the log holds into tables. */
  constructor(
    private readonly flush: () => Promise<void>,
    /** What was read at the opening stays to be read by the next owner: how long it took. */
    private ms: number,
  ) {}

  /** A file of the log was written in that time. */
  wrote(ms: number): void {
    this.files++;
    this.ms += ms;
    if (this.ms >= mostMs || this.files >= mostFiles) this.shorten();
  }

  /** Before the database is handed over. Never rejects. */
  async end(): Promise<void> {
    await this.shortening;
    if (this.files > fewFiles) await this.shorten();
  }

  private shorten(): Promise<void> {
    if (this.shortening) return this.shortening;
    this.files = 0;
    this.ms = 0;
    // One that fails leaves more to read, and nothing undone.
    this.shortening = this.flush()
      .catch(() => {})
      .finally(() => {
        this.shortening = undefined;
      });
    return this.shortening;
  }
}
