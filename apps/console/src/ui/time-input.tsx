import { ActionIcon, TextInput, type TextInputProps } from '@mantine/core';
import { IconCalendar } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { localInput } from './local-input.js';
import { afterPress } from './suggesting-field.js';

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const example = '2026-05-01 10:00';

/**
 * A field for a time of the reader's zone. Browsers' own fields write it in their language, which is not that of the pages; their calendar is a
 * click away.
 * @param value in UTC; none: empty, or not a time yet
 * @param after in UTC; this time and earlier ones are a mistake
 * @param onRead is told whether what is written can be used
 */
export function TimeInput({ value, onChange, onRead, after, error, description, ...props }: Omit<TextInputProps, 'value' | 'onChange'> & {
  readonly value: string | undefined;
  readonly after?: string | undefined;
  readonly onChange: (time: string | undefined) => void;
  readonly onRead?: (isRead: boolean) => void;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const calendar = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(textOf(value));
  const [isTyping, setTyping] = useState(false);
  const told = useRef(value);
  // Something else changed it, such as "Back" or "Clear".
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(textOf(value));
  }, [value]);
  const { time: read, fault: misread = '', note } = readingOf(text);
  const fault = read !== undefined && after !== undefined && Date.parse(read) <= Date.parse(after) ? `Write a time after ${textOf(after)}.` : misread;
  useEffect(() => input.current?.setCustomValidity(fault), [fault]);
  useEffect(() => onRead?.(fault === ''), [onRead, fault]);
  const change = (changed: string): void => {
    setText(changed);
    const { time } = readingOf(changed);
    if (time === told.current) return;
    told.current = time;
    onChange(time);
  };
  return (
    <TextInput
      ref={input}
      placeholder={example}
      title={`Of the zone ${zone}`}
      autoComplete="off"
      maxLength={40}
      value={text}
      onBlur={() => afterPress(() => setTyping(false))}
      onKeyDown={({ key }) => key === 'Enter' && setTyping(false)}
      onChange={({ currentTarget }) => {
        setTyping(true);
        change(currentTarget.value);
      }}
      description={note ?? description}
      error={fault !== '' && !isTyping ? fault : error}
      rightSection={
        <>
          <input ref={calendar} type="datetime-local" tabIndex={-1} aria-hidden style={{ position: 'absolute', inset: 0, opacity: 0, pointerEvents: 'none' }} onChange={({ currentTarget }) => change(currentTarget.value.replace('T', ' '))} />
          <ActionIcon variant="subtle" color="gray" aria-label="Choose in a calendar" onClick={() => {
            if (!calendar.current) return;
            calendar.current.value = localInput(Date.parse(value ?? '') || Date.now());
            calendar.current.showPicker();
          }}><IconCalendar size={16} /></ActionIcon>
        </>
      }
      {...props}
    />
  );
}

/** What a text says. */
interface Reading {
  /** In UTC. */
  readonly time?: string;
  /** Why it is no time. */
  readonly fault?: string;
  /** Which one is meant of two. */
  readonly note?: string;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** With the offset where the clocks show the time twice. */
function textOf(time: string | undefined): string {
  if (time === undefined) return '';
  const at = Date.parse(time);
  const text = localInput(at);
  const seconds = at % minuteMs === 0 ? '' : new Date(at).toISOString().slice(16, at % 1_000 === 0 ? 19 : 23);
  return `${text.replace('T', ' ')}${seconds}${instantsOf(text).length > 1 ? ` ${offsetOf(at)}` : ''}`;
}

/** Of a day, a minute or a moment of the reader's zone; a day begins with its first minute. */
function readingOf(text: string): Reading {
  if (text.trim() === '') return {};
  const found = /^(\d{4}-\d\d?-\d\d?)(?:[T, ]+(\d\d?:\d\d)(:[0-5]\d(?:\.\d{1,3})?)?(?: *([+-]\d\d:\d\d))?)?$/.exec(text.trim());
  const [day, time, seconds = ':00', offset] = [...(found ?? [])].slice(1).map((part: string | undefined) => part?.replaceAll(/(?<=^|[-:+])\d(?=$|[-:])/g, '0$&'));
  const wanted = `${day ?? ''}T${time ?? '00:00'}`;
  // Otherwise February 30th might be a day of March.
  if (!found || Number.isNaN(Date.parse(`${wanted}Z`)) || new Date(`${wanted}Z`).toISOString().slice(0, 10) !== day) return { fault: `Write a time such as ${example}.` };
  const [first, second] = instantsOf(wanted);
  const secondsMs = Date.parse(`1970-01-01T00:00${seconds}Z`);
  if (first === undefined) return time === undefined ? { time: new Date(wanted).toISOString() } : { fault: `The clocks leave ${time} out on this day. Choose another time.` };
  if (offset !== undefined) {
    const meant = [first, second].find((one) => one !== undefined && offsetOf(one) === offset);
    return meant === undefined ? { fault: `At this time the clocks are at ${offsetOf(first)}.` } : { time: new Date(meant + secondsMs).toISOString() };
  }
  const note = second === undefined || time === undefined ? {} : { note: `The clocks show ${time} twice on this day. The first is meant; for the second write ${wanted.replace('T', ' ')} ${offsetOf(second)}.` };
  return { time: new Date(first + secondsMs).toISOString(), ...note };
}

/** When the clocks of the reader's zone show this: usually once, not at all when they go forward, twice when they go back. */
function instantsOf(text: string): readonly number[] {
  const near = Date.parse(`${text}Z`);
  const offsets = new Set([near - dayMs, near + dayMs].map((at) => new Date(at).getTimezoneOffset()));
  return [...offsets].map((offset) => near + offset * minuteMs).filter((at) => localInput(at) === text).sort((one, other) => one - other);
}

/** Of the reader's zone at a time: +02:00. */
function offsetOf(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'));
  return `${minutes < 0 ? '-' : '+'}${hours ?? ''}:${rest ?? ''}`;
}
