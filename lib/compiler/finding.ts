/** What kind of mistake a finding is about; stable, for tools. */
export type FindingCode =
  | 'NOT_A_FLOW'
  | 'NOT_A_STEP'
  | 'NOT_AN_ATTRIBUTE'
  | 'NOT_A_CHANNEL'
  | 'NO_EXECUTE'
  | 'UNDEFINED_REFERENCE'
  | 'SEVERAL_START_STEPS'
  | 'UNKNOWN_STEP'
  | 'BAD_NAME'
  | 'MINIFIED_NAME'
  | 'DUPLICATE_NAME'
  | 'NO_DESIGN_TYPES'
  | 'UNKNOWN_PARAMETER'
  | 'DUPLICATE_PARAMETER'
  | 'INJECT_MISMATCH'
  | 'INHERITED_CONSTRUCTOR'
  | 'UNKNOWN_OPTION'
  | 'UNKNOWN_VALUE'
  | 'BAD_VALUE'
  | 'BAD_DURATION'
  | 'BAD_LOCK'
  | 'DOUBLE_LOCK'
  | 'BAD_INDEX'
  | 'INDEX_CONFLICT'
  | 'UNKNOWN_RPC'
  | 'DOUBLE_MARK'
  | 'TIMEOUT_HANDLER';

/** One thing that is wrong with the annotated classes. */
export interface Finding {
  readonly code: FindingCode;
  /** Class, and option, parameter or method. */
  readonly where: string;
  readonly found: string;
  readonly expected: string;
  readonly fix: string;
}

/** Takes findings as they are made. */
export type Report = (finding: Finding) => void;

/** Several findings as text for a person, numbered, in the order given. */
export function formatFindings(findings: readonly Finding[]): string {
  return findings
    .map((finding, index) => {
      const number = `${index + 1}. `;
      const indent = ' '.repeat(number.length);
      return [
        `${number}${finding.where} [${finding.code}]`,
        `${indent}found:    ${finding.found}`,
        `${indent}expected: ${finding.expected}`,
        `${indent}fix:      ${finding.fix}`,
      ].join('\n');
    })
    .join('\n\n');
}

/** How a value of unknown origin reads in a finding. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return value.name === '' ? 'a function without a name' : value.name;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'an array';
  if (value !== null && typeof value === 'object') return 'an object';
  return String(value);
}
