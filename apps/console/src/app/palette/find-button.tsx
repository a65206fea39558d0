// oxlint-disable-next-line no-restricted-imports
import { Button, Modal, Text } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { lazyFile } from '../../shop/lazy-file.js';
import { Loading } from '../../ui/loading.js';

export const Palette = lazyFile(() => import('./palette.js'), 'Palette');

/** What is typed before the palette's field takes the keys. */
export interface Early {
  readonly text: string;
  /** Whether Enter was pressed after it. */
  readonly isEntered: boolean;
}

/** Opens the palette, as Ctrl+K and `/` do, unless a dialog is open or a field takes the key. */
export function FindButton(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  /** Undefined unless the palette is opening. */
  const early = useRef<Early>(undefined);
  const open = (): void => {
    early.current = { text: '', isEntered: false };
    setOpen(true);
  };
  const close = (): void => {
    early.current = undefined;
    setOpen(false);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      const isCommand = ctrlKey || metaKey;
      const isTyping = target instanceof Element && target.matches('input:not([type=checkbox], [type=radio]), textarea, select');
      const isMeant = key === '/' ? !isCommand && !isTyping : key.toLowerCase() === 'k' && isCommand;
      if (altKey) return;
      if (early.current) {
        const { text } = early.current;
        if (isCommand || (key.length > 1 && !['Enter', 'Backspace', 'Escape'].includes(key))) return;
        if (key === 'Escape') close();
        else early.current = key === 'Enter' ? { text, isEntered: true } : { text: key === 'Backspace' ? text.slice(0, -1) : text + key, isEntered: false };
      } else {
        if (!isMeant || document.querySelector('[aria-modal=true]')) return;
        open();
      }
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button variant="default" size="xs" px={7} aria-label="Find anything" title="Find anything (Ctrl K or /)" aria-keyshortcuts="Control+K Meta+K /" onClick={open}>
        <IconSearch size={16} />
        <Text span inherit visibleFrom="sm" mx={6}>Find</Text>
        <Text span inherit visibleFrom="sm" c="dimmed">/</Text>
      </Button>
      {isOpen && <Suspense fallback={<Modal opened onClose={close} title="Find anything"><Loading /></Modal>}><Palette early={early} onClose={close} /></Suspense>}
    </>
  );
}
