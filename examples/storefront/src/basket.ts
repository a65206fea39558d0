import { useState } from 'react';
import type { Plant } from './shop.js';

interface Line {
  readonly plantId: number;
  readonly name: string;
  readonly quantity: number;
}

/** What decides the payment in a sandbox. A real storefront opens the page of a payment provider instead. */
export const payments = ['test_approve', 'test_decline', 'test_late', 'test_never'] as const;
export type Payment = (typeof payments)[number];

/** A basket that was sent, and whose answer has not come. The key makes a repetition the same order, also after a reload. */
interface Attempt {
  readonly key: string;
  readonly payment: Payment;
}

interface State {
  readonly lines: readonly Line[];
  readonly attempt?: Attempt | undefined;
}

export interface Basket extends State {
  readonly add: (plant: Plant) => void;
  /** Sets the quantity of a plant; 0 removes its line. */
  readonly set: (plantId: number, quantity: number) => void;
  /** Stores the attempt before it is sent. Returns the attempt whose answer has not come, if there is one. */
  readonly begin: (payment: Payment) => Attempt;
  /** The attempt was refused: the basket can be changed again. */
  readonly end: () => void;
  readonly empty: () => void;
}

/** The basket, which survives reloads and the redirects of a log-in. */
export function useBasket(): Basket {
  const [state, setState] = useState<State>(() => JSON.parse(localStorage.getItem('basket') ?? '{"lines":[]}') as State);
  const save = (next: State): void => {
    localStorage.setItem('basket', JSON.stringify(next));
    setState(next);
  };
  const { lines, attempt } = state;
  return {
    ...state,
    add: ({ id, name }) => {
      const line = lines.find(({ plantId }) => plantId === id);
      if (attempt) return;
      save({ lines: line ? lines.map((one) => (one === line ? { ...one, quantity: one.quantity + 1 } : one)) : [...lines, { plantId: id, name, quantity: 1 }] });
    },
    set: (plantId, quantity) => save({ lines: lines.flatMap((one) => (one.plantId !== plantId ? one : quantity > 0 ? { ...one, quantity } : [])) }),
    begin: (payment) => {
      const begun = attempt ?? { key: crypto.randomUUID(), payment };
      save({ lines, attempt: begun });
      return begun;
    },
    end: () => save({ lines }),
    empty: () => save({ lines: [] }),
  };
}
