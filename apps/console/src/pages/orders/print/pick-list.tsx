import type { ReactNode } from 'react';
import type { Order } from '../../../shop/day.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import classes from './papers.module.css';

/** All units of the orders by plant, to fetch them in one round. */
export function PickList({ orders }: { readonly orders: readonly Order[] }): ReactNode {
  const plants = Map.groupBy(orders, ({ plantId }) => plantId);
  const lines = [...plants].map(([plantId, ofPlant]) => ({ plantId, orders: ofPlant, name: ofPlant[0]?.plant?.name ?? `Plant ${plantId} (deleted)`, units: unitsOf(ofPlant) }));
  lines.sort((one, other) => one.name.localeCompare(other.name) || one.plantId - other.plantId);
  return (
    <section className={classes['slip']}>
      <h1>Pick list</h1>
      <p>{counted(orders.length, 'order')}, {counted(unitsOf(orders), 'unit')} of {counted(lines.length, 'plant')}</p>
      <table>
        <thead><tr><th scope="col">Plant</th><th scope="col">Number</th><th scope="col" className={classes['number']}>Units</th><th scope="col">Orders (units)</th><th scope="col">Picked</th></tr></thead>
        <tbody>
          {lines.map(({ plantId, name, units, orders: ofPlant }) => (
            <tr key={plantId}>
              <td>{name}</td>
              <td>{plantId}</td>
              <td className={classes['number']}>{formatNumber(units)}</td>
              <td>{ofPlant.map(({ id, quantity }) => `${id} (${formatNumber(quantity)})`).join(', ')}</td>
              <td><span className={classes['box']} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const unitsOf = (orders: readonly Order[]): number => orders.reduce((sum, { quantity }) => sum + quantity, 0);
