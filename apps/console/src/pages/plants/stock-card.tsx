import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.js';
import { sayDone } from '../../ui/done.js';
import { Loading } from '../../ui/loading.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { RestoredDraft } from '../../ui/use-draft.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { mostUnits } from './plant-form-values.js';
import { type Stock, stockQuery, type Versioned, versionOf } from './plants-queries.js';
import { useVersionedForm } from './use-versioned-form.js';

/** A plant's stock: free, reserved and sold units. The free units can be set. */
export function StockCard({ plantId }: { readonly plantId: number }): ReactNode {
  const stock = useQuery(stockQuery(useShop(), plantId));
  useOrdersOf(plantId);
  return (
    <Card title="Stock">
      {stock.isPending && <Loading />}
      <ProblemAlert error={stock.error} title="The stock could not be loaded" />
      {stock.data && <Units stock={stock.data} />}
    </Card>
  );
}

/** Refetches the stock with each event of the plant's orders. */
function useOrdersOf(plantId: number): void {
  const { live } = useSession();
  const client = useQueryClient();
  const mayRead = useMay('read:orders');
  useEffect(() => {
    if (!mayRead) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unsubscribe = live.subscribe(({ data }) => {
      if (!('plantId' in data) || data.plantId !== plantId) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: ['plant', plantId, 'stock'] });
      }, 500);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [live, client, mayRead, plantId]);
}

function Units({ stock }: { readonly stock: Versioned<Stock> }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const { plantId, free, reserved, sold } = stock.value;
  const query = stockQuery(shop, plantId);
  const editing = useVersionedForm<Stock, string>({
    name: `stock of plant ${plantId}`,
    latest: stock,
    formOf: (value) => String(value.free),
    isSame: (one, other) => one.trim() === other.trim(),
    read: () => client.query({ ...query, staleTime: 0 }),
    write: async (units, { etag }) =>
      versionOf(await shop.PUT('/store/inventory/{plantId}', { params: { path: { plantId }, header: { 'If-Match': etag } }, body: { free: Number(units) } })),
    onSaved: (saved) => {
      client.setQueryData(query.queryKey, saved);
      void client.invalidateQueries({ queryKey: ['inventory'] });
      sayDone(`${counted(saved.value.free, 'unit')} can be ordered.`);
    },
  });
  const { theirs, form } = editing;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 3 }} component="dl" m={0}>
        <Figure label="Free" text="can be ordered" value={free} />
        <Figure label="Reserved" text="in placed orders" value={reserved} />
        <Figure label="Sold" text="approved or delivered" value={sold} />
      </SimpleGrid>
      <RestoredDraft draft={editing.draft} />
      <form onSubmit={(event) => {
        event.preventDefault();
        editing.save();
      }}>
        <Group align="flex-end">
          <WholeNumberInput label="Free units" required max={mostUnits} value={form} onChange={editing.setForm} error={faultOf(editing.error, 'free')} style={{ flex: 1 }} />
          {!theirs && <Button type="submit" disabled={!editing.isDirty || form.trim() === ''} loading={editing.isSaving}>Set the stock</Button>}
        </Group>
      </form>
      <ProblemAlert error={editing.error} title="The stock was not set" />
      {theirs && (
        <ChangedMeanwhile
          title="The stock has changed"
          differences={[{ label: 'Free units', theirs: formatNumber(theirs.value.free), mine: formatNumber(Number(form)) }]}
          takeTheirs={`Leave it at ${formatNumber(theirs.value.free)}`}
          keepMine={`Set it to ${formatNumber(Number(form))}`}
          isBusy={editing.isSaving}
          onTakeTheirs={editing.takeTheirs}
          onKeepMine={editing.keepMine}
        />
      )}
    </Stack>
  );
}

const Figure = ({ label, text, value }: { readonly label: string; readonly text: string; readonly value: number }): ReactNode => (
  <div>
    <Text component="dt" size="sm" c="dimmed">{label}</Text>
    <Text component="dd" m={0} size="xl" fw={600} className="numbers">{formatNumber(value)}</Text>
    <Text component="dd" m={0} size="xs" c="dimmed">{text}</Text>
  </div>
);
