export interface WholeNumberRange {
  readonly min?: number;
  readonly max?: number;
}

/** Reads a whole number written in digits. @returns undefined for any other text, such as -5, 1.5 or 1e3, and outside of the range */
export function wholeNumber(text: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: WholeNumberRange = {}): number | undefined {
  const value = /^\s*\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}
