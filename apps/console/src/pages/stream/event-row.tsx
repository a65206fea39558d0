import { Badge, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { locale } from '../../ui/numbers.js';
import { StatusBadge } from '../../ui/status-badge.js';
import classes from './event-list.module.css';
import type { Frame } from './tail.js';

const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 } as const;
const time = new Intl.DateTimeFormat(locale, clock);
const dayAndTime = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', ...clock });
const formatAt = (at: Date): string => (at.toDateString() === new Date().toDateString() ? time : dayAndTime).format(at);

const colors: Readonly<Record<Frame['event'], string>> = { 'order.placed': 'blue', 'order.status_changed': 'teal', 'order.shipped': 'grape', 'refund.due': 'orange', 'stream.gap': 'red' };

/** One event in one line. */
export const EventRow = ({ frame }: { readonly frame: Frame }): ReactNode => (
  <>
    <Text span inherit className="numbers" c="dimmed">{formatAt(new Date(frame.timestamp))}</Text>
    <Badge variant="light" color={colors[frame.event]} tt="none" w={176} style={{ flexShrink: 0 }}>{frame.event}</Badge>
    {frame.event === 'stream.gap' ? <Text span inherit>Events are missing here ({frame.data.reason})</Text> : <Text span inherit className="numbers">Order {frame.data.orderId}, plant {frame.data.plantId}</Text>}
    <span className={classes['detail']}><Detail frame={frame} /></span>
  </>
);

function Detail({ frame }: { readonly frame: Frame }): ReactNode {
  if (frame.event === 'order.status_changed') return <StatusBadge status={frame.data.newStatus} />;
  if (frame.event === 'order.placed') return <Text span inherit c="dimmed">× {frame.data.quantity}</Text>;
  if (frame.event === 'order.shipped') return <Text span inherit c="dimmed" truncate className={classes['text'] ?? ''} title={`${frame.data.carrier} ${frame.data.trackingNumber}`}>{frame.data.carrier} {frame.data.trackingNumber}</Text>;
  return null;
}
