import type { NavigateOptions } from '@tanstack/react-router';
import type { IconProps } from '@tabler/icons-react';
import type { ComponentType } from 'react';

/** Something that the palette finds, and what choosing it does. */
export interface Offer {
  /** Unique among all offers. */
  readonly key: string;
  readonly label: string;
  readonly detail?: string;
  readonly status?: string;
  /** Whether its whole number, name or other id was typed. */
  readonly isExact?: boolean;
  readonly icon: ComponentType<IconProps>;
  readonly run: () => void;
}

export interface OfferGroup {
  readonly name: string;
  readonly offers: readonly Offer[];
  /** Whether people gave the names, which may begin as other things do. */
  readonly isNamedByPeople?: boolean;
}

/** Opens a page of the console, and closes the palette. */
export type Go = (to: NavigateOptions) => void;

/** Whether each word that is typed begins a word of the text. Signs alone mean nothing. */
export function isMeant(text: string, typed: string): boolean {
  const [known, meant] = [wordsOf(text), wordsOf(typed)];
  return (typed === '' || meant.length > 0) && meant.every((word) => known.some((one) => one.startsWith(word)));
}

/** Whether one of the texts is what is typed, in letters of any size. */
export const isSame = (typed: string, ...texts: readonly (string | number | undefined)[]): boolean => texts.some((text) => text !== undefined && String(text).toLowerCase() === typed.toLowerCase());

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
