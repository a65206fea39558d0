import { TextInput, type TextInputProps } from '@mantine/core';
import { type InvalidEvent, type ReactNode, useEffect, useRef } from 'react';
import { formatNumber } from './numbers.js';
import { wholeNumber, type WholeNumberRange } from './whole-number.js';

/** A field for a whole number. It keeps what is typed, says what is wrong with it, and its form is not sent until that is corrected. */
export function WholeNumberInput({ value, onChange, min, max, error, ...props }: WholeNumberRange & Omit<TextInputProps, 'value' | 'onChange' | 'min' | 'max'> & {
  readonly value: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const fault = value.trim() === '' || wholeNumber(value, { ...(min !== undefined && { min }), ...(max !== undefined && { max }) }) !== undefined ? '' : faultText(value, min, max);
  useEffect(() => input.current?.setCustomValidity(fault), [fault]);
  /** The browser's own message would hide this one. */
  const showOwn = (event: InvalidEvent<HTMLInputElement>): void => {
    if (fault === '') return;
    event.preventDefault();
    if (event.currentTarget.form?.querySelector(':invalid:not(fieldset)') === event.currentTarget) event.currentTarget.focus();
  };
  return <TextInput ref={input} onInvalid={showOwn} inputMode="numeric" autoComplete="off" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} error={fault === '' ? error : fault} {...props} />;
}

function faultText(text: string, min = 0, max = Number.MAX_SAFE_INTEGER): string {
  if (wholeNumber(text, { max: Number.POSITIVE_INFINITY }) === undefined) return 'Write a whole number in digits, such as 12.';
  return wholeNumber(text, { min, max: Number.POSITIVE_INFINITY }) === undefined ? `At least ${formatNumber(min)}.` : `At most ${formatNumber(max)}.`;
}
