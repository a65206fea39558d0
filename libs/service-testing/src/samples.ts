export { type Sample, sampleOf } from '@plant-shop/contracts/samples';

/**
 * Returns the names and types of a value's members, without their values. A caller that can read one answer can read every answer of
 * the same shape. The shape of a list is the set of its elements' shapes.
 */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map((one) => JSON.stringify(shapeOf(one)));
    return [...new Set(shapes)].sort().map((shape) => JSON.parse(shape) as unknown);
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.map(([name, one]) => [name, shapeOf(one)] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
}
