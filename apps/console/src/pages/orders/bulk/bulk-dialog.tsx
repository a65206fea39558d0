import { Button, Checkbox, Group, Progress, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPrinter } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ClipboardEvent, type KeyboardEvent, memo, type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { LostPermissions } from '../../../auth/permissions.js';
import { useCell, useMay } from '../../../auth/session.js';
import { Dialog, ResultActions } from '../../../ui/dialog.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { ProblemAlert } from '../../../ui/problem-alert.js';
import { RestoredDraft, useDraft } from '../../../ui/use-draft.js';
import { useStayHere } from '../../../ui/use-stay-here.js';
import { PrintDialog } from './bulk-bar.js';
import classes from './bulk-dialog.module.css';
import type { BulkChange, BulkKind, BulkRow, BulkRun } from './bulk-run.js';
import { readTrackingList } from './tracking-list.js';

interface Words {
  readonly title: (orders: string) => string;
  readonly action: (orders: string) => string;
  readonly done: string;
  readonly leftOut: string;
}

const words: Readonly<Record<BulkKind, Words>> = {
  ship: { title: (orders) => `Ship ${orders}`, action: (orders) => `Ship ${orders}`, done: 'shipped', leftOut: 'Only paid orders that are not shipped yet can be shipped.' },
  deliver: { title: (orders) => `Delivery of ${orders}`, action: () => 'They were delivered', done: 'delivered', leftOut: 'Only shipped orders can be delivered.' },
  cancel: { title: (orders) => `Cancel ${orders}?`, action: (orders) => `Cancel ${orders}`, done: 'cancelled', leftOut: 'Shipped and closed orders cannot be cancelled.' },
};

/** Asks what the change needs, and shows its result at each order. @param onClose gets the orders that were not changed, if it was tried */
export function BulkDialog({ run, onClose }: { readonly run: BulkRun; readonly onClose: (open?: readonly number[]) => void }): ReactNode {
  const { kind, leftOut } = run;
  const { rows, isRunning, isBegun } = useCell(run.state);
  const client = useQueryClient();
  const draft = useDraft<BulkChange>(`${kind} orders`, { carrier: '', trackingNumbers: {}, reason: '', restock: true });
  const change = draft.value;
  // The draft may be of other orders.
  const [restored] = useState(() => {
    const numbered = rows.filter(({ order }) => change.trackingNumbers[order.id] !== undefined).length;
    return [...(change.carrier === '' ? [] : ['the carrier']), ...(numbered === 0 ? [] : [`the tracking number of ${formatNumber(numbered)} of these ${counted(rows.length, 'order')}`])].join(' and ');
  });
  const trackingNumbers = useRef(change.trackingNumbers);
  trackingNumbers.current = change.trackingNumbers;
  const numberOf = ({ order }: BulkRow): string => change.trackingNumbers[order.id] ?? order.trackingNumber ?? '';
  const { change: type } = draft;
  const latestType = useRef(type);
  latestType.current = type;
  const setNumbers = useCallback((numbers: Readonly<Record<number, string>>): void => {
    trackingNumbers.current = { ...trackingNumbers.current, ...numbers };
    latestType.current({ trackingNumbers: trackingNumbers.current });
  }, []);
  useStayHere(isRunning);
  const [isPrinting, setPrinting] = useState(false);
  const changed = rows.filter(({ state }) => state === 'done').map(({ order }) => order);
  const done = changed.length;
  const failed = rows.filter(({ state }) => state === 'failed').length;
  const unknown = rows.filter(({ state }) => state === 'unknown').length;
  const open = rows.filter(isOpen).map(({ order }) => order.id);
  const hasResult = isBegun && !isRunning;
  const needed = kind === 'cancel' ? 'manage:orders' : 'write:shipments';
  const isForbidden = !useMay(needed) && hasResult && failed > 0;
  const mayRetry = open.length > 0 && !isForbidden;
  // What was refused comes first.
  const shown = hasResult ? [...rows].sort((one, other) => Number(hasNot(other)) - Number(hasNot(one))) : rows;
  const all = counted(rows.length, 'order');
  const [pasted, setPasted] = useState('');
  /** Lines of a spreadsheet that are pasted into one field are for it and those below. */
  const pasteLines = (event: ClipboardEvent<HTMLElement>): void => {
    const text = event.clipboardData.getData('text');
    const { target } = event;
    if (!(target instanceof HTMLInputElement) || !/\S\s*\n\s*\S/.test(text)) return;
    event.preventDefault();
    const below = shown.map(({ order }) => order.id).filter((id) => open.includes(id));
    const { numbers, faults } = readTrackingList(text, below.slice(below.indexOf(Number(target.name))));
    setNumbers(numbers);
    setPasted([`${counted(Object.keys(numbers).length, 'number is', 'numbers are')} filled in.`, ...faults].join(' '));
  };
  const close = (): void => {
    if (isRunning) return;
    onClose(isBegun ? open : undefined);
  };
  const send = (): void => {
    void run.run({ ...change, trackingNumbers: Object.fromEntries(rows.map((row) => [row.order.id, numberOf(row)])) }).then(() => {
      // It was meant for these orders, of which none can be tried again.
      if (!run.state.get().rows.some(isOpen)) draft.forget();
      return client.invalidateQueries({ queryKey: ['orders'] });
    });
  };
  if (isPrinting) return <Suspense><PrintDialog orders={changed} onClose={() => setPrinting(false)} /></Suspense>;
  return (
    <Dialog isBusy={false} onClose={close} title={words[kind].title(all)} size="xl" closeOnClickOutside={!isBegun}>
      <form onSubmit={(event) => { event.preventDefault(); send(); }}>
        <Stack>
          {!isBegun && <RestoredDraft draft={draft} {...(kind === 'ship' && { what: restored })} />}
          {leftOut > 0 && <Text size="sm">{counted(leftOut, 'selected order is', 'selected orders are')} left out. {words[kind].leftOut}</Text>}
          {kind === 'ship' && mayRetry && (
            <>
              <TextInput label="Carrier" description="Of all these orders." required {...(!isBegun && { 'data-autofocus': true })} value={change.carrier} onChange={({ currentTarget: { value } }) => draft.change({ carrier: value })} />
              {!isRunning && <TrackingList ids={open} onNumbers={setNumbers} />}
            </>
          )}
          {kind === 'deliver' && <Text size="sm">The orders close: they can be neither cancelled nor transferred afterwards.</Text>}
          {kind === 'cancel' && (
            <>
              <Text size="sm">Where money was paid, a refund becomes due: return the money then. A cancelled order stays visible and cannot be reopened.</Text>
              <Textarea label="Reason" description="The owners see it, too." required autosize minRows={2} data-autofocus value={change.reason} onChange={({ currentTarget: { value } }) => draft.change({ reason: value })} />
              <Checkbox label="Their units can be sold again" description="If not, those of paid orders are written off." checked={change.restock} onChange={({ currentTarget: { checked } }) => draft.change({ restock: checked })} />
            </>
          )}
          {isBegun && <Progress value={((done + failed + unknown) / rows.length) * 100} color={failed + unknown > 0 ? 'orange' : 'green'} aria-label="Orders that have a result" />}
          <Text size="sm" role="status" fw={500}>{isBegun ? resultText({ done, failed, unknown, count: rows.length, isRunning, word: words[kind].done }) : ''}</Text>
          {isForbidden && <ProblemAlert error={new LostPermissions([needed])} />}
          <ul className={classes['rows']} aria-label="Orders" tabIndex={0} onKeyDown={toNextField} onPaste={pasteLines}>
            {shown.map((row) => <Row key={row.order.id} row={row} {...(kind === 'ship' && { number: numberOf(row), onNumbers: setNumbers })} done={words[kind].done} />)}
          </ul>
          <Text size="sm" role="status" style={{ overflowWrap: 'anywhere' }}>{isBegun ? '' : pasted}</Text>
          <ResultActions isBegun={isBegun} isRunning={isRunning}>
            {isRunning ? <Button variant="default" onClick={() => run.stop()}>Stop</Button> : <Button variant="default" onClick={close}>{isBegun ? 'Close' : 'Back'}</Button>}
            {kind === 'ship' && done > 0 && !isRunning && <Button {...(mayRetry && { variant: 'default' })} leftSection={<IconPrinter size={16} />} data-autofocus onClick={() => setPrinting(true)}>Print for {done === rows.length ? all : `the ${counted(done, 'order')} shipped`}</Button>}
            {(mayRetry || isRunning) && <Button type="submit" color={kind === 'cancel' ? 'red' : 'green'} loading={isRunning}>{hasResult ? `Try ${counted(open.length, 'order')} again` : words[kind].action(all)}</Button>}
          </ResultActions>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Scanners press Enter after each number. */
function toNextField(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
  event.preventDefault();
  const fields = [...event.currentTarget.querySelectorAll('input')];
  const next = fields[fields.indexOf(event.target) + 1];
  next?.focus();
}

/** It can be tried again. */
const isOpen = ({ state, isFinal = false }: BulkRow): boolean => state !== 'done' && !isFinal;

const hasNot = ({ state }: BulkRow): boolean => state === 'failed' || state === 'unknown';

function resultText({ done, failed, unknown, count, isRunning, word }: { readonly done: number; readonly failed: number; readonly unknown: number; readonly count: number; readonly isRunning: boolean; readonly word: string }): string {
  const refused = `${failed === 0 ? '' : ` ${counted(failed, 'was', 'were')} not changed: each says why.`}${unknown === 0 ? '' : ` Of ${formatNumber(unknown)} it is not known: try again, which changes none twice.`}`;
  return `${done + failed + unknown < count && !isRunning ? 'Stopped. ' : ''}${formatNumber(done)} of ${counted(count, 'order')} ${done === 1 || count === 1 ? 'is' : 'are'} ${word}.${refused}`;
}

const Row = memo(function Row({ row: { order, state, isFinal, why, requestId }, number, onNumbers, done }: {
  readonly row: BulkRow;
  /** The tracking number, where one is needed. */
  readonly number?: string;
  readonly onNumbers?: (numbers: Readonly<Record<number, string>>) => void;
  readonly done: string;
}): ReactNode {
  const { id, plant, plantId, quantity } = order;
  return (
    <li className={classes['row']} data-state={state}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>Order {id} · {counted(quantity, 'unit')} of <bdi>{plant?.name ?? `plant ${plantId}`}</bdi></Text>
      {/* What is typed or scanned replaces the number that is there. */}
      {number !== undefined && <TextInput size="xs" name={String(id)} aria-label={`Tracking number of order ${id}`} required readOnly={state === 'done' || state === 'running' || isFinal} onFocus={({ currentTarget }) => currentTarget.select()} value={number} onChange={({ currentTarget: { value } }) => onNumbers?.({ [id]: value })} />}
      <Text size="sm" c={state === 'failed' || state === 'unknown' ? 'red' : 'dimmed'} className={classes['result'] ?? ''}>
        {state === 'running' && '…'}
        {state === 'done' && done}
        {state === 'unknown' && <>Not known whether it is {done}. {why}</>}
        {state === 'failed' && <>{isFinal ? 'Left as it is.' : `Not ${done}.`} {why}{requestId !== undefined && <Text span size="xs" c="dimmed"> Request {requestId}</Text>}</>}
      </Text>
    </li>
  );
});

/** Fills in all tracking numbers at once. */
function TrackingList({ ids, onNumbers }: { readonly ids: readonly number[]; readonly onNumbers: (numbers: Readonly<Record<number, string>>) => void }): ReactNode {
  // What is not filled in yet is kept for these orders: its lines are in their order.
  const { value: { text }, change, forget } = useDraft(`tracking numbers of ${ids.join(' ')}`, { text: '' });
  const [result, setResult] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const [filledIn, setFilledIn] = useState('');
  useEffect(() => field.current?.setCustomValidity(text.trim() === filledIn ? '' : 'These numbers are not filled in yet. Press “Fill in”, or remove them.'), [text, filledIn]);
  const fill = (): void => {
    const { numbers, faults } = readTrackingList(text, ids);
    onNumbers(numbers);
    setFilledIn(text.trim());
    forget();
    setResult([`${counted(Object.keys(numbers).length, 'number is', 'numbers are')} filled in.`, ...faults].join(' '));
  };
  return (
    <Stack gap={4}>
      <Textarea ref={field} label="Paste tracking numbers" description="One a line, in the order below; an empty line leaves one out. Or two columns: order and tracking number." autosize minRows={2} maxRows={5} value={text} onChange={({ currentTarget: { value } }) => change({ text: value })} />
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={text.trim() === ''} onClick={fill}>Fill in</Button>
        <Text size="sm" role="status" style={{ overflowWrap: 'anywhere' }}>{result}</Text>
      </Group>
    </Stack>
  );
}
