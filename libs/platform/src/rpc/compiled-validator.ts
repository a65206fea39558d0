import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationArguments } from 'class-validator';

// The fast path of validation. class-validator looks up its rules, groups them and prepares an error for each field of each
// payload, which took a fifth of the store's CPU time. This file collects the same rules, from the same decorators, once per
// class. It only accepts: a value that is not plainly valid is passed to class-validator, which decides and words the errors.

/** Returns an instance of the class for a valid value, or `undefined` for a value that class-validator must check. */
export type CompiledValidator<T> = (value: unknown) => T | undefined;

interface Field {
  readonly optional: boolean;
  readonly rules: readonly ((value: unknown) => boolean)[];
  /** The validator of a nested object, or of the objects in a list. */
  readonly nested: CompiledValidator<object> | undefined;
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

const validators = new WeakMap<ClassConstructor<object>, CompiledValidator<object>>();

/**
 * Returns the validator of a class, compiled at the first call.
 * @throws Error for a class without rules, and for a rule that this file cannot apply, such as one with groups
 */
export function compiledValidatorOf<T extends object>(type: ClassConstructor<T>): CompiledValidator<T> {
  let validator = validators.get(type);
  if (!validator) {
    validator = compile(type);
    validators.set(type, validator);
  }
  return validator as CompiledValidator<T>;
}

function compile<T extends object>(type: ClassConstructor<T>): CompiledValidator<T> {
  const all = rulesOf(type);
  const unconverted = Object.entries(all).filter(([name]) => isUnconverted(type, name));
  const fields = new Map(unconverted.map(([name, rules = []]) => [name, fieldOf(type, name, rules)]));
  const required = Object.values(all).filter((rules) => !rules?.some(isOptional)).length;

  return (value) => {
    if (!isPlainObject(value)) return undefined;
    const instance = new type() as Record<string, unknown>;
    let requiredFound = 0;
    for (const name of Object.keys(value)) {
      const field = fields.get(name);
      if (!field) return undefined;
      const one = value[name];
      if (one === null || one === undefined) {
        if (!field.optional) return undefined;
        continue;
      }
      const valid = validOrUndefined(field, one);
      if (valid === undefined) return undefined;
      instance[name] = valid;
      if (!field.optional) requiredFound++;
    }
    return requiredFound === required ? (instance as T) : undefined;
  };
}

function validOrUndefined({ rules, nested }: Field, value: unknown): unknown {
  for (const holds of rules) if (!holds(value)) return undefined;
  if (!nested) return typeof value !== 'object' || isListOfScalars(value) ? value : undefined;
  if (!Array.isArray(value)) return nested(value);
  const elements: object[] = [];
  for (const one of value) {
    const element = nested(one);
    if (!element) return undefined;
    elements.push(element);
  }
  return elements;
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

/** Returns the rules of a class, including those of its base classes, by field. */
function rulesOf(type: ClassConstructor<object>): Partial<Record<string, Rule[]>> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  if (rules.length === 0) throw new Error(`${type.name} has no rules`);
  for (const rule of rules) {
    const isSupported = rule.type === 'customValidation' || rule.type === 'nestedValidation' || isOptional(rule);
    // The library's types say that `groups` is always defined, but it is missing where a rule has other options.
    const groups = rule.groups as readonly string[] | undefined;
    if (!isSupported || rule.validateIf || groups?.length) {
      throw new Error(`${type.name}.${rule.propertyName} has a rule that compiled validators do not support: ${rule.name ?? rule.type}`);
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

/** Returns a rule's arguments without the object and the value: a rule that reads them throws instead of passing silently. */
function argumentsOf({ propertyName, constraints }: Rule): ValidationArguments {
  const missing = (what: string) => (): never => {
    throw new Error(`A rule of ${propertyName} reads ${what}, which the compiled validator does not provide.`);
  };
  return Object.defineProperties({ property: propertyName, constraints, targetName: '' } as unknown as ValidationArguments, {
    object: { get: missing('its object') },
    value: { get: missing('the value among its arguments') },
  });
}

/** Whether class-transformer leaves scalars of the field unchanged. Fields that it converts or renames are left to class-validator. */
function isUnconverted(type: ClassConstructor<object>, name: string): boolean {
  const probe = { [name]: 'probe' };
  return (plainToInstance(type, probe) as Record<string, unknown>)[name] === 'probe';
}

function nestedClassOf(type: ClassConstructor<object>, name: string): ClassConstructor<object> {
  // Not an empty object, which a transformer may treat as absent.
  const instance = plainToInstance(type, { [name]: { probe: 'probe' } }) as Record<string, object>;
  return instance[name]?.constructor as ClassConstructor<object>;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isListOfScalars = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one !== 'object');
