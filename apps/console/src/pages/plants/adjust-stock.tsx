import { Alert, Button, Group, Input, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { type Shop, ShopProblem } from '@plant-shop/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { sendOnce, wasSent } from '../../ui/drafts.js';
import { counted, formatNumber, isolated, trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { wholeNumber } from '../../ui/whole-number.js';
import { mostUnits } from './plant-form-values.js';
import { type Stock, stockChanges, type StockEntry, stockQuery, type Versioned, versionOf } from './plants-queries.js';

const reasons = ['Delivery', 'Count', 'Damaged', 'Returned'];
/** How often orders may change the stock while it is changed here. */
const mostTries = 5;

interface Known {
  readonly stock: Versioned<Stock>;
  /** The newest change by staff. */
  readonly last: StockEntry | undefined;
}

/** The change before the stock: a change between the two is in the stock that is shown. Not by the cache: a query under way may be older than a refusal. */
async function read(shop: Shop, plantId: number, signal = new AbortController().signal): Promise<Known> {
  const { entries: [last] } = await stockChanges(shop, plantId, { limit: 1 }, signal);
  return { last, stock: await stockQuery(shop, plantId).queryFn({ signal }) };
}

/** What a change means for the free units. A count is of free and reserved units: those of unpaid orders are on the shelf, too. */
const changeOf = (verb: string, units: number, { free, reserved }: Stock): number => (verb === 'Count' ? units - free - reserved : verb === 'Remove' ? -units : units);

/** Adds or removes free units, or sets them by a count, with a reason. Two people who correct the same stock at the same time learn of each other; orders meanwhile do not matter. */
export function AdjustStock({ plantId, name, onClose }: { readonly plantId: number; readonly name: string; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const queryKey = ['plant', plantId, 'adjusted'];
  // As it was when the dialog opened: what is typed is meant for it.
  const query = { queryKey, queryFn: ({ signal }: { readonly signal: AbortSignal }) => read(shop, plantId, signal), staleTime: Number.POSITIVE_INFINITY };
  const { data: known, error } = useQuery({ ...query, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false });
  const draft = useDraft(`adjust stock of plant ${plantId}`, { verb: 'Add', units: '', reason: '' });
  const { verb, units, reason } = draft.value;
  const isCount = verb === 'Count';
  const count = wholeNumber(units, { min: isCount ? 0 : 1 });
  const adjusting = useChange({
    isRepeatable: true,
    mutationFn: async (): Promise<{ saved: Versioned<Stock>; isAsPromised: boolean } | { asks: true }> => {
      // Enter does not wait for the stock.
      const from = await client.query(query);
      // Orders after the count change nothing about what it found.
      const by = changeOf(verb, Number(units), from.stock.value);
      for (let [base, tries] = [from, 1]; ; tries += 1) {
        try {
          const saved = await sendOnce(draft, { etag: base.stock.etag, body: { by, reason: trimmed(reason) } }, ({ etag, body }, idempotencyKey) =>
            shop.POST('/store/inventory/{plantId}/adjustment', { params: { path: { plantId }, header: { 'If-Match': etag } }, body, idempotencyKey }), draft.value);
          return { saved: versionOf(saved), isAsPromised: saved.data.free === from.stock.value.free + by };
        } catch (problem) {
          if (!(problem instanceof ShopProblem) || ![409, 412].includes(problem.status)) throw problem;
          const newest = await read(shop, plantId);
          client.setQueryData(queryKey, newest);
          if (problem.status === 409 || tries === mostTries) throw problem;
          if (newest.last?.id !== base.last?.id) return { asks: true };
          base = newest;
        }
      }
    },
    onSuccess: (outcome) => {
      if ('asks' in outcome) return;
      const { saved, isAsPromised } = outcome;
      client.setQueryData(stockQuery(shop, plantId).queryKey, saved);
      void client.invalidateQueries({ queryKey: ['plant', plantId, 'changes'] });
      void client.invalidateQueries({ queryKey: ['inventory'] });
      sayDone(`${counted(saved.value.free, 'unit')} of ${isolated(name)} can be ordered${isAsPromised ? '' : ': orders have changed them meanwhile'}.`);
      draft.clear();
      onClose();
    },
  });
  const verbLabel = useId();
  const { free, reserved = 0 } = known?.stock.value ?? {};
  const shortage = adjusting.error instanceof ShopProblem && adjusting.error.is('insufficient-stock');
  const asks = adjusting.data !== undefined && 'asks' in adjusting.data;
  return (
    <Dialog isBusy={adjusting.isPending} onClose={onClose} title={`Stock of ${isolated(name)}`}>
      <form onSubmit={(event) => {
        event.preventDefault();
        adjusting.mutate();
      }}>
        <Stack>
          <RestoredDraft draft={draft} />
          <div>
            <Input.Label id={verbLabel} labelElement="div" display="block">Change</Input.Label>
            <SegmentedControl aria-labelledby={verbLabel} data={['Add', 'Remove', 'Count']} value={verb} onChange={(chosen) => draft.change({ verb: chosen, ...(chosen === 'Count' && reason === '' && { reason: 'Count' }) })} />
          </div>
          <WholeNumberInput
            label={isCount ? 'Units on the shelf' : 'Units'}
            required
            data-autofocus
            min={isCount ? reserved : 1}
            max={verb === 'Remove' ? (free ?? mostUnits) : verb === 'Add' ? mostUnits - (free ?? 0) : mostUnits}
            description={freeText(known?.stock.value, verb, count, wasSent(draft))}
            value={units}
            onChange={(changed) => draft.change({ units: changed })}
            error={shortage ? 'Fewer units are free by now.' : faultOf(adjusting.error, 'by')}
          />
          <TextInput label="Reason" description="For the history." required autoComplete="off" value={reason} onFocus={({ currentTarget }) => reasons.includes(reason) && currentTarget.select()} onChange={({ currentTarget }) => draft.change({ reason: currentTarget.value })} error={faultOf(adjusting.error, 'reason')} />
          <Group gap={6} role="group" aria-label="Usual reasons">
            {reasons.map((usual) => <Button key={usual} size="compact-sm" variant="default" onClick={() => draft.change({ reason: usual })}>{usual}</Button>)}
          </Group>
          {known?.last && !asks && <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>Last change: <Change entry={known.last} /></Text>}
          {known?.last && asks && (
            <Alert color="yellow" variant="light" role="alert" title="Someone has changed the stock meanwhile">
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}><Change entry={known.last} /></Text>
              <Text size="sm">Yours is not made yet. If it is still right, make it now.</Text>
            </Alert>
          )}
          <ProblemAlert error={error} title="The stock could not be loaded" />
          {!shortage && <ProblemAlert error={adjusting.error} title="The stock was not changed" />}
          <Group justify="flex-end">
            <BackButton />
            <Button type="submit" loading={adjusting.isPending}>{isCount ? 'Set the stock' : count === undefined ? `${verb} units` : `${verb} ${counted(count, 'unit')}`}</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** @param isIncluded whether the stock may have the change already: its answer was lost */
function freeText(stock: Stock | undefined, verb: string, count: number | undefined, isIncluded: boolean): string {
  if (!stock) return 'Loading the stock …';
  const { free, reserved } = stock;
  const by = count === undefined ? 0 : changeOf(verb, count, stock);
  const after = by === 0 || free + by < 0 || isIncluded ? '' : `, ${formatNumber(free + by)} afterwards`;
  const shelf = verb === 'Count' ? ` Count them${reserved === 0 ? '' : `, and the ${counted(reserved, 'unit')} of unpaid orders`}, but none of paid ones.` : '';
  return `${counted(free, 'unit')} can be ordered now${after}.${shelf}`;
}

const Change = ({ entry: { by, username, reason, at } }: { readonly entry: StockEntry }): ReactNode => (
  <>{signed(by)} by {username ?? 'a deleted user'}{reason !== undefined && `, ${reason}`}, <Time at={at} /></>
);

export const signed = (by: number): string => (by > 0 ? `+${formatNumber(by)}` : formatNumber(by).replace('-', '−'));
