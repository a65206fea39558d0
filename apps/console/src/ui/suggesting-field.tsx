import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { type ReactNode, useState } from 'react';

/** A text field with suggestions that the shop has found. Without any, Escape closes the dialog around it at once. */
export function SuggestingField({ suggestions, onChange, onTyping, ...props }: Omit<AutocompleteProps, 'value' | 'onChange' | 'data'> & {
  readonly value: string;
  readonly suggestions: readonly string[];
  readonly onChange: (text: string) => void;
  /** Called when the user begins to type, and when the field is left. */
  readonly onTyping: (isTyping: boolean) => void;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <Autocomplete
      {...props}
      data={[...suggestions]}
      // The shop also finds other spellings.
      filter={({ options }) => options}
      dropdownOpened={isOpen && suggestions.length > 0}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onOptionSubmit={() => setOpen(false)}
      onBlur={() => {
        setOpen(false);
        afterPress(() => onTyping(false));
      }}
      onChange={(changed) => {
        onTyping(true);
        onChange(changed);
      }}
    />
  );
}

/** Calls it once no mouse button is down: an error that appears at once would move what is being clicked away from under the pointer. */
export function afterPress(show: () => void): void {
  if (document.querySelector(':active')) addEventListener('pointerup', () => setTimeout(show), { once: true });
  else show();
}
