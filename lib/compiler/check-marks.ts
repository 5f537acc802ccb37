import { attributeKindOf, channelKindOf } from '../authoring';
import { lineage, markOf } from '../metadata';
import type { Class } from '../ports';
import type { NamedThing } from './check-names';
import type { Finding } from './finding';

export function named(mark: string, draft: Pick<NamedThing, 'type' | 'name' | 'record'>): NamedThing {
  return { mark, type: draft.type, name: draft.name, record: draft.record };
}

/** For a Flow or Step class without its mark. */
export function unmarkedHandler(type: Class, mark: '@Flow' | '@Step', code: Finding['code']): Finding {
  const other = otherMark(type, mark);
  const base = markedBase(type);
  const kind = mark === '@Flow' ? 'a Flow' : 'a Step';
  return {
    code,
    where: type.name === '' ? 'a class without a name' : type.name,
    found: other ?? (base ? `a class without a mark, which extends the marked ${base.name}` : 'a class without a mark'),
    expected: `a class marked ${mark}`,
    fix: other
      ? `It is taken for ${kind} here: remove it from the list, or list the class that was meant.`
      : `Put ${mark}() before ${base ? 'this class too: marks are not inherited' : 'the class'}.`,
  };
}

/** For a class that a constructor takes, whose base or mark says that it is an Attribute or a Channel. */
export function unmarkedState(
  type: Class,
  taker: Class,
  mark: '@Attribute' | '@Channel',
  code: Finding['code'],
): Finding {
  const other = otherMark(type, mark);
  const base = markedBase(type);
  const bases =
    mark === '@Attribute' ? ['DurableAttribute', 'DurableAttributeMap'] : ['DurableChannel', 'DurableChannelMap'];
  const [single, map] = bases;
  const kind = (mark === '@Attribute' ? attributeKindOf(type) : channelKindOf(type)) === 'map' ? map : single;
  const taken = `taken by the constructor of ${taker.name}`;
  const example = mark === '@Attribute' ? 'Balance' : 'Approvals';
  if (bases.includes(type.name)) {
    return {
      code,
      where: type.name,
      found: `the base class itself, ${taken}`,
      expected: `a class of your own, marked ${mark}`,
      fix: `Write ${mark}() class ${example} extends ${kind}<number> {}, and take that.`,
    };
  }
  const extending = base ? `a class without a mark, which extends the marked ${base.name}` : 'a class without a mark';
  return {
    code,
    where: type.name,
    found: `${other ?? extending}, ${taken}`,
    expected: `a class that extends ${single} or ${map} and is marked ${mark}`,
    fix: other
      ? `Mark it ${mark}() instead.`
      : `Put ${mark}() before ${base ? 'this class too: marks are not inherited' : 'the class'}.`,
  };
}

function otherMark(type: Class, mark: string): string | undefined {
  const other = markOf(type);
  return other && other !== mark ? `a class marked ${other}` : undefined;
}

function markedBase(type: Class): Class | undefined {
  return lineage(type).find((each) => each !== type && markOf(each) !== undefined);
}
