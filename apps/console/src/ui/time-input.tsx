import { ActionIcon, TextInput, type TextInputProps } from '@mantine/core';
import { IconCalendar } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { localInput } from './local-input.js';
import { afterPress } from './suggesting-field.js';

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const example = '2026-05-01 10:00';
const fault = `Write a time such as ${example}.`;

/**
 * A field for a time of the reader's zone. Browsers' own fields write it in their language, which is not that of the pages; their calendar is a
 * click away.
 * @param value in UTC; none: empty, or not a time yet
 */
export function TimeInput({ value, onChange, error, ...props }: Omit<TextInputProps, 'value' | 'onChange'> & {
  readonly value: string | undefined;
  readonly onChange: (time: string | undefined) => void;
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
  const isWrong = text.trim() !== '' && timeOf(text) === undefined;
  useEffect(() => input.current?.setCustomValidity(isWrong ? fault : ''), [isWrong]);
  const change = (changed: string): void => {
    setText(changed);
    const time = timeOf(changed);
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
      onChange={({ currentTarget }) => {
        setTyping(true);
        change(currentTarget.value);
      }}
      error={isWrong && !isTyping ? fault : error}
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

const textOf = (time: string | undefined): string => (time === undefined ? '' : localInput(Date.parse(time)).replace('T', ' '));

/** Of a day or a minute of the reader's zone; a day begins at midnight. */
function timeOf(text: string): string | undefined {
  const found = /^(\d{4})-(\d\d?)-(\d\d?)(?:[T, ]+(\d\d?):(\d\d))?$/.exec(text.trim());
  if (!found) return undefined;
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0] = found.map((part: string | undefined) => Number(part ?? 0));
  const date = new Date(year, month - 1, day, hour, minute);
  // Otherwise February 30th would be a day of March. Years before 100 are of the last century.
  const isReal = date.getFullYear() === year && date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60;
  return isReal ? date.toISOString() : undefined;
}
