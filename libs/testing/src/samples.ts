export { type Sample, sampleOf } from '@plant-shop/contracts/samples';

/**
 * Names and types of a value, without what it happens to hold: two answers of the same shape can be read by the same
 * caller. A list has the shapes of its elements, each once.
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
