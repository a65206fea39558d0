import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import classes from './file-drop-zone.module.css';

interface FileDropZoneProps {
  /** What the file dialog offers, as in `<input accept>`. Dropped files may be of any type. */
  readonly accept: string;
  readonly multiple?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
  /** @param openDialog opens the file dialog */
  readonly children: (openDialog: () => void) => ReactNode;
}

/** An area that takes files by drag and drop or from a file dialog. */
export function FileDropZone({ accept, multiple = false, onFiles, children }: FileDropZoneProps): ReactNode {
  const [isOver, setIsOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return (
    <div
      className={classes['zone']}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      {children(() => input.current?.click())}
      <input
        ref={input}
        type="file"
        hidden
        multiple={multiple}
        accept={accept}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          // Otherwise choosing the same file again would change nothing.
          currentTarget.value = '';
        }}
      />
    </div>
  );
}
