import { ShopProblem } from '@plant-shop/client';

export interface FieldFault {
  readonly field: string;
  readonly detail: string;
}

/** Returns the errors of single fields. */
export const faultsOf = (error: unknown): readonly FieldFault[] =>
  error instanceof ShopProblem ? error.errors.map(({ pointer, parameter, header, detail }) => ({ field: fieldOf(pointer ?? parameter ?? header), detail })) : [];

/** `/order/quantity` → `quantity`. */
const fieldOf = (pointer = ''): string => pointer.split('/').at(-1) ?? pointer;

/** Returns the error of a form's field, if it has one. */
export const faultOf = (error: unknown, field: string): string | undefined => faultsOf(error).find((one) => one.field === field)?.detail;
