/** What differs between the databases an index can be in. */
export interface SqlDialect {
  /** Texts are ordered by their bytes. */
  readonly text: string;
  readonly integer: string;
  readonly number: string;
  placeholder(position: number): string;
  /** Run first in the transaction that makes the tables, so that processes which come at once make them one by one. */
  readonly lockSchema: string | null;
  /** One connection for all: transactions and reads wait for each other. */
  readonly oneAtATime: boolean;
}

export const postgresDialect: SqlDialect = {
  text: 'text COLLATE "C"',
  integer: 'bigint',
  number: 'double precision',
  placeholder: (position) => `$${position}`,
  lockSchema: 'SELECT pg_advisory_xact_lock(7450631890241)',
  oneAtATime: false,
};

export const sqliteDialect: SqlDialect = {
  text: 'text',
  integer: 'integer',
  number: 'real',
  placeholder: () => '?',
  lockSchema: null,
  oneAtATime: true,
};

export type SqlValue = string | number | null;

/** SQL with its values, which are bound and never become part of the text. */
export class SqlText {
  private text = '';
  readonly values: SqlValue[] = [];

  constructor(private readonly dialect: SqlDialect) {}

  /** Adds text, and a placeholder for each value between its parts: ``sql.add`name = ${name}` ``. */
  add(parts: TemplateStringsArray, ...values: readonly (SqlValue | readonly SqlValue[])[]): this {
    parts.forEach((part, i) => {
      this.text += part;
      if (i >= values.length) return;
      const value = values[i]!;
      if (Array.isArray(value)) this.text += `(${value.map((each) => this.bind(each)).join(', ')})`;
      else this.text += this.bind(value as SqlValue);
    });
    return this;
  }

  /** Adds text of the library's own. */
  raw(text: string): this {
    this.text += text;
    return this;
  }

  toString(): string {
    return this.text;
  }

  private bind(value: SqlValue): string {
    this.values.push(value);
    return this.dialect.placeholder(this.values.length);
  }
}
