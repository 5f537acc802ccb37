import { attributeKindOf, channelKindOf } from '../authoring';
import { named, unmarkedState } from './check-marks';
import { checkName } from './check-names';
import type { AttributeDraft, ChannelDraft } from './collect';
import { type Report, show } from './finding';

export function checkAttribute(attribute: AttributeDraft, report: Report): void {
  const { type, record, taker } = attribute;
  if (!record) {
    report(unmarkedState(type, taker, '@Attribute', 'NOT_AN_ATTRIBUTE'));
    return;
  }
  if (attributeKindOf(type) === undefined) {
    report({
      code: 'NOT_AN_ATTRIBUTE',
      where: type.name,
      found: 'a class with another base, marked @Attribute',
      expected: 'a class that extends DurableAttribute or DurableAttributeMap (A1)',
      fix: 'Extend one of them.',
    });
  }
  checkName({ ...named('@Attribute', attribute), record }, report);
  const { codec, schema } = record.options;
  if (codec !== undefined && !isCodec(codec)) {
    report({
      code: 'BAD_VALUE',
      where: `${type.name} @Attribute codec`,
      found: show(codec),
      expected: 'an object with a name, encode(value) and decode(stored)',
      fix: 'Give all three; the name is stored with each value.',
    });
  }
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    report({
      code: 'BAD_VALUE',
      where: `${type.name} @Attribute schema`,
      found: show(schema),
      expected: "a Standard Schema: an object with '~standard'.validate",
      fix: 'Give a schema of zod, valibot or another library that follows Standard Schema.',
    });
  }
}

export function checkChannel(channel: ChannelDraft, report: Report): void {
  const { type, record, taker } = channel;
  if (!record) {
    report(unmarkedState(type, taker, '@Channel', 'NOT_A_CHANNEL'));
    return;
  }
  if (channelKindOf(type) === undefined) {
    report({
      code: 'NOT_A_CHANNEL',
      where: type.name,
      found: 'a class with another base, marked @Channel',
      expected: 'a class that extends DurableChannel or DurableChannelMap (C1)',
      fix: 'Extend one of them.',
    });
  }
  checkName({ ...named('@Channel', channel), record }, report);
}

function isCodec(codec: { name?: unknown; encode?: unknown; decode?: unknown } | null): boolean {
  const { name, encode, decode } = codec ?? {};
  return typeof name === 'string' && name !== '' && typeof encode === 'function' && typeof decode === 'function';
}
