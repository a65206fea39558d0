import type { ReactNode } from 'react';
import { encode } from 'uqr';
import type { Order } from '../../../shop/day.js';
import { counted, formatNumber, locale } from '../../../ui/numbers.js';
import classes from './papers.module.css';

const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });

/** A packing slip. */
export function Slip({ order }: { readonly order: Order }): ReactNode {
  const { id, plant, plantId, quantity, placedAt, owner, externalId, basketId, carrier, trackingNumber } = order;
  const facts = Object.entries({ Placed: day.format(new Date(placedAt)), Customer: owner, 'Your reference': externalId, Basket: basketId, Carrier: carrier, 'Tracking number': carrier === undefined ? undefined : trackingNumber });
  return (
    <section className={classes['slip']}>
      <header className={classes['head']}>
        <div>
          <h1>Packing slip</h1>
          <p>Order {id}</p>
        </div>
        <Code id={id} className={classes['code']} />
      </header>
      <div className={classes['columns']}>
        <div><h2>Ship to</h2><Address order={order} /></div>
        <dl>{facts.map(([name, value]) => value !== undefined && <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      </div>
      <table>
        <thead><tr><th scope="col">Plant</th><th scope="col">Number</th><th scope="col" className={classes['number']}>Units</th></tr></thead>
        <tbody><tr><td>{plant?.name ?? 'deleted'}</td><td className={classes['whole']}>{plantId}</td><td className={classes['number']}>{formatNumber(quantity)}</td></tr></tbody>
      </table>
    </section>
  );
}

/** What is stuck on a parcel. */
export function Label({ order }: { readonly order: Order }): ReactNode {
  const { id, plant, plantId, quantity, carrier, trackingNumber } = order;
  return (
    <section className={classes['label']}>
      <div className={classes['to']}><Address order={order} /></div>
      <div className={classes['columns']}>
        <Code id={id} className={classes['code']} />
        <div>
          <p className={classes['order']}>Order {id}</p>
          <p className={classes['contents']}>{counted(quantity, 'unit')} of {plant?.name ?? `plant ${plantId}`}</p>
          {carrier !== undefined && <p>{carrier}, {trackingNumber}</p>}
        </div>
      </div>
    </section>
  );
}

function Address({ order: { shipTo, owner } }: { readonly order: Order }): ReactNode {
  if (shipTo === undefined) return <address>{owner ?? 'No address'}</address>;
  const { name, lines = [], postalCode, city, country } = shipTo;
  const place = [postalCode, city].filter((one) => one !== undefined).join(' ');
  const all = [name, ...lines, place, country].filter((one) => one !== undefined && one !== '');
  // The longest address that the shop takes still fits on a label.
  return <address data-long={all.join('').length > 160 || undefined}>{all.map((line, n) => <div key={n} dir="auto">{line}</div>)}</address>;
}

/** The order's number: scanned into the search of the console, it finds the order. */
function Code({ id, className }: { readonly id: number; readonly className: string | undefined }): ReactNode {
  const { data, size } = encode(String(id), { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('');
  return <svg className={className} viewBox={`0 0 ${size} ${size}`} shapeRendering="crispEdges" role="img" aria-label={`QR code of order ${id}`}><path d={path} fill="#000" /></svg>;
}

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
        <thead><tr><th scope="col" className={classes['plant']}>Plant</th><th scope="col">Number</th><th scope="col" className={classes['number']}>Units</th><th scope="col" className={classes['orders']}>Orders (units)</th><th scope="col">Picked</th></tr></thead>
        <tbody>
          {lines.map(({ plantId, name, units, orders: ofPlant }) => (
            <tr key={plantId}>
              <td>{name}</td>
              <td className={classes['whole']}>{plantId}</td>
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
