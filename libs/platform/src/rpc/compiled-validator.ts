import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationArguments } from 'class-validator';

// The quick path of validation. class-validator looks its rules up, groups them and prepares an error for each field of
// each payload, which was a fifth of the store's work. Here the same rules, from the same decorators, are gathered once
// per class. Whatever is not plainly right gets no verdict: class-validator then gives it, and words the refusal.

/** The instance, or `undefined` for a value that class-validator must judge. */
export type CompiledValidator<T> = (value: unknown) => T | undefined;

interface Field {
  readonly optional: boolean;
  readonly rules: readonly ((value: unknown) => boolean)[];
  /** For objects of a class of ours, alone or in a list. */
  readonly nested: CompiledValidator<object> | undefined;
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

const acceptOf = new WeakMap<ClassConstructor<object>, CompiledValidator<object>>();

/** @throws Error for a class without rules, and for a rule that this file cannot apply, like one for a group */
export function compiledValidatorOf<T extends object>(type: ClassConstructor<T>): CompiledValidator<T> {
  let accept = acceptOf.get(type);
  if (!accept) {
    accept = compiled(type);
    acceptOf.set(type, accept);
  }
  return accept as CompiledValidator<T>;
}

function compiled<T extends object>(type: ClassConstructor<T>): CompiledValidator<T> {
  const all = rulesOf(type);
  const taken = Object.entries(all).filter(([name]) => isTakenAsItIs(type, name));
  const fields = new Map(taken.map(([name, rules = []]) => [name, fieldOf(type, name, rules)]));
  const required = Object.values(all).filter((rules) => !rules?.some(isOptional)).length;

  return (value) => {
    if (!isPlainObject(value)) return undefined;
    const instance = new type() as Record<string, unknown>;
    let found = 0;
    for (const name of Object.keys(value)) {
      const field = fields.get(name);
      if (!field) return undefined;
      const one = value[name];
      if (one === null || one === undefined) {
        if (!field.optional) return undefined;
        continue;
      }
      const taken = takenBy(field, one);
      if (taken === undefined) return undefined;
      instance[name] = taken;
      if (!field.optional) found++;
    }
    return found === required ? (instance as T) : undefined;
  };
}

function takenBy({ rules, nested }: Field, value: unknown): unknown {
  for (const holds of rules) if (!holds(value)) return undefined;
  if (!nested) return typeof value !== 'object' || isListOfScalars(value) ? value : undefined;
  if (!Array.isArray(value)) return nested(value);
  const taken: object[] = [];
  for (const one of value) {
    const element = nested(one);
    if (!element) return undefined;
    taken.push(element);
  }
  return taken;
}

function fieldOf(type: ClassConstructor<object>, name: string, own: readonly Rule[]): Field {
  const nested = own.some((rule) => rule.type === 'nestedValidation') ? nestedClassOf(type, name) : undefined;
  return {
    optional: own.some(isOptional),
    rules: own.filter((rule) => rule.type === 'customValidation').flatMap(checksOf),
    nested: nested && compiledValidatorOf(nested),
  };
}

const isOptional = (rule: Rule): boolean => rule.name === 'isOptional';

/** The rules of a class by field, its base classes' included. */
function rulesOf(type: ClassConstructor<object>): Partial<Record<string, Rule[]>> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  if (rules.length === 0) throw new Error(`${type.name} has no rules`);
  for (const rule of rules) {
    const understood = rule.type === 'customValidation' || rule.type === 'nestedValidation' || isOptional(rule);
    // The library says that there always are groups, and leaves them out where a rule has other options.
    const groups = rule.groups as readonly string[] | undefined;
    if (!understood || rule.validateIf || groups?.length) {
      throw new Error(`${type.name}.${rule.propertyName} has a rule that the quick path of validation does not know: ${rule.name ?? rule.type}`);
    }
  }
  return Object.groupBy(rules, (rule) => rule.propertyName);
}

function checksOf(rule: Rule): ((value: unknown) => boolean)[] {
  const args = argumentsOf(rule);
  return getMetadataStorage()
    .getTargetValidatorConstraints(rule.constraintCls)
    .map(({ instance }) => {
      const holds = (value: unknown): boolean => instance.validate(value, args) === true;
      return rule.each ? (value) => (Array.isArray(value) ? value.every(holds) : holds(value)) : holds;
    });
}

/** What a rule is told beside the value. Its neighbours are not there: a rule that asks for them must fail loudly. */
function argumentsOf({ propertyName, constraints }: Rule): ValidationArguments {
  const missing = (what: string) => (): never => {
    throw new Error(`A rule of ${propertyName} looks at ${what}, which the quick path of validation does not have.`);
  };
  return Object.defineProperties({ property: propertyName, constraints, targetName: '' } as unknown as ValidationArguments, {
    object: { get: missing('its object') },
    value: { get: missing('the value among its arguments') },
  });
}

/** Whether class-transformer leaves scalars of the field alone: what it converts or renames is class-validator's to judge. */
function isTakenAsItIs(type: ClassConstructor<object>, name: string): boolean {
  const probe = { [name]: 'probe' };
  return (plainToInstance(type, probe) as Record<string, unknown>)[name] === 'probe';
}

function nestedClassOf(type: ClassConstructor<object>, name: string): ClassConstructor<object> {
  // Not an empty object, which a field may take for nothing.
  const instance = plainToInstance(type, { [name]: { probe: 'probe' } }) as Record<string, object>;
  return instance[name]?.constructor as ClassConstructor<object>;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isListOfScalars = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one !== 'object');
