import { type ReactElement, useEffect, useState } from 'react';
import { type Availability, catalogue, messageOf, type Plant } from './shop.js';

/** Pause in typing after which the shop is asked. */
const TYPING_MS = 200;
/** How often the availability of the shown plants is read again. */
const AVAILABILITY_MS = 5_000;
const SHOWN = 24;

interface Found {
  readonly plants: readonly Plant[];
  readonly categories: readonly { readonly value: string; readonly plants: number }[];
}

export function Catalogue({ onAdd }: { readonly onAdd: (plant: Plant) => void }): ReactElement {
  const [q, setQ] = useState('');
  const [category, setCategory] = useState('');
  const { found, error } = useSearch(q, category);
  const availability = useAvailability(found.plants);
  return (
    <section aria-labelledby="catalogue">
      <h2 id="catalogue">Catalogue</h2>
      <form onSubmit={(event) => event.preventDefault()} role="search">
        <label>
          Search <input type="search" list="names" value={q} onChange={(event) => setQ(event.target.value)} />
        </label>
        <datalist id="names">{[...new Set(found.plants.map(({ name }) => name))].map((name) => <option key={name} value={name} />)}</datalist>
        <label>
          Category{' '}
          <select value={category} onChange={(event) => setCategory(event.target.value)}>
            <option value="">all</option>
            {found.categories.map(({ value, plants }) => <option key={value} value={value}>{`${value} (${plants})`}</option>)}
          </select>
        </label>
      </form>
      {error !== undefined && <p role="alert">{messageOf(error)}</p>}
      <ul aria-label="Plants">
        {found.plants.map((plant) => {
          const state = availability.get(plant.id);
          return (
            <li key={plant.id}>
              <span>
                {plant.name} <small>{textOf(state)}</small>
              </span>
              <button disabled={state?.state !== 'in-stock' && state?.state !== 'low-stock'} onClick={() => onAdd(plant)} aria-label={`Add ${plant.name}`}>
                Add
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Finds plants while the customer types; an answer that comes after the next question is dropped. */
function useSearch(q: string, category: string): { readonly found: Found; readonly error: unknown } {
  const [found, setFound] = useState<Found>({ plants: [], categories: [] });
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const words = { ...(q.trim() !== '' && { q: q.trim() }) };
    const ask = async (): Promise<void> => {
      const [{ data: plants }, { data: facets }] = await Promise.all([
        catalogue.GET('/plant/search', { params: { query: { ...words, ...(category !== '' && { category }), status: ['available'], limit: SHOWN } }, signal: stop.signal }),
        catalogue.GET('/plant/facets', { params: { query: { ...words, status: ['available'] } }, signal: stop.signal }),
      ]);
      setFound({ plants, categories: facets.category });
      setError(undefined);
    };
    const timer = setTimeout(() => void ask().catch((caught: unknown) => !stop.signal.aborted && setError(caught)), TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [q, category]);
  return { found, error };
}

/** Reads the availability of plants, and reads it again while they are shown. */
function useAvailability(plants: readonly Plant[]): ReadonlyMap<number, Availability> {
  const [states, setStates] = useState<ReadonlyMap<number, Availability>>(new Map());
  const ids = plants.map(({ id }) => id).join();
  useEffect(() => {
    if (ids === '') return undefined;
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const { data } = await catalogue.GET('/plant/availability', { params: { query: { ids: ids.split(',').map(Number) } }, signal: stop.signal });
      setStates(new Map(data.map((one) => [one.plantId, one])));
    };
    // After a failure the next reading comes soon, and until then nothing can be added.
    const reread = (): void => void read().catch(() => !stop.signal.aborted && setStates(new Map()));
    reread();
    const timer = setInterval(reread, AVAILABILITY_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [ids]);
  return states;
}

function textOf(availability: Availability | undefined): string {
  switch (availability?.state) {
    case undefined:
      return '…';
    case 'in-stock':
      return 'in stock';
    case 'low-stock':
      return availability.units === undefined ? 'only a few left' : `only ${availability.units} left`;
    case 'out-of-stock':
      return 'out of stock';
    case 'not-for-sale':
      return 'not for sale';
  }
}
