import { ActionIcon, Anchor, Button, Group, Image, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconPhoto, IconTrash, IconX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { FileDropZone } from '../../ui/file-drop-zone.js';
import { formatBytes } from '../../ui/numbers.js';
import { problemText } from '../../ui/problem-text.js';
import { useChange } from '../../ui/use-change.js';
import { ownImage, webAddress } from './plant-picture.js';
import classes from './plant-images.module.css';
import type { Plant } from './plant-filter.js';
import { replacePlant } from './plant-replacement.js';
import type { Versioned } from './plants-queries.js';
import { type Upload, useImageUploads } from './use-image-uploads.js';

/** A plant's images. New ones are added by drag and drop or a file dialog. */
export function PlantImages({ plant, mayWrite }: { readonly plant: Versioned<Plant>; readonly mayWrite: boolean }): ReactNode {
  const { photoUrls, id } = plant.value;
  const { uploads, add, dismiss } = useImageUploads(id);
  return (
    <Card title="Images">
      <Stack gap="sm">
        {photoUrls.length === 0 && !mayWrite && <Text size="sm" c="dimmed">There are none.</Text>}
        {photoUrls.length > 0 && (
          <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="xs">
            {photoUrls.map((address, index) => <OneImage key={address} address={address} number={index + 1} plant={plant} mayWrite={mayWrite} />)}
          </SimpleGrid>
        )}
        {uploads.length > 0 && <Stack gap={6} aria-label="Uploads" role="list">{uploads.map((upload) => <OneUpload key={upload.id} upload={upload} onDismiss={() => dismiss(upload.id)} />)}</Stack>}
        {mayWrite && (
          <FileDropZone accept="image/jpeg,image/png,image/gif,image/webp,image/avif" multiple onFiles={add}>
            {(openDialog) => (
              <>
                <IconPhoto size={24} aria-hidden />
                <Text size="sm">Drop images here, or</Text>
                <Button variant="default" size="xs" onClick={openDialog}>Choose pictures</Button>
                <Text size="xs" c="dimmed">JPEG, PNG, GIF, WebP or AVIF, up to 10 MiB each</Text>
              </>
            )}
          </FileDropZone>
        )}
      </Stack>
    </Card>
  );
}

const OneUpload = ({ upload: { name, bytes, part, error }, onDismiss }: { readonly upload: Upload; readonly onDismiss: () => void }): ReactNode => (
  <div role="listitem">
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <Text size="sm" truncate title={name}>{name}</Text>
      <Group gap={4} wrap="nowrap">
        <Text size="xs" c="dimmed" className="numbers" style={{ whiteSpace: 'nowrap' }}>{formatBytes(bytes)}</Text>
        {error !== undefined && <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Dismiss ${name}`} onClick={onDismiss}><IconX size={14} /></ActionIcon>}
      </Group>
    </Group>
    {error === undefined
      ? <Progress value={part * 100} size="sm" aria-label={`${name} is uploaded`} />
      : <Text size="sm" role="alert" c="var(--mantine-color-error)">{typeof error === 'string' ? error : problemText(error).what}</Text>}
  </div>
);

function OneImage({ address, number, plant, mayWrite }: { readonly address: string; readonly number: number; readonly plant: Versioned<Plant>; readonly mayWrite: boolean }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const [isAsking, setIsAsking] = useState(false);
  const removing = useChange({
    mutationFn: () => replacePlant(shop, plant, { photoUrls: plant.value.photoUrls.filter((one) => one !== address) }),
    onSuccess: (changed) => {
      client.setQueryData(['plant', plant.value.id], changed);
      void client.invalidateQueries({ queryKey: ['plants'] });
    },
    onError: () => client.invalidateQueries({ queryKey: ['plant', plant.value.id] }),
  });
  const own = ownImage(address);
  const link = webAddress(address);
  return (
    <div className={classes['image']}>
      {own === undefined
        ? <div className={classes['elsewhere']}>{link === undefined ? <Text size="xs">{address}</Text> : <Anchor href={link} target="_blank" rel="noreferrer" size="xs">{address}</Anchor>}</div>
        : <a href={own} target="_blank" rel="noreferrer"><Image src={own} alt={`Image ${String(number)} of ${plant.value.name}`} className={classes['picture']} /></a>}
      {mayWrite && (
        <ActionIcon className={classes['remove']} variant="default" size="sm" aria-label={`Remove image ${String(number)}`} onClick={() => setIsAsking(true)}><IconTrash size={14} /></ActionIcon>
      )}
      <ConfirmDialog
        title={`Remove image ${String(number)}?`}
        action="Remove the image"
        isOpen={isAsking}
        isBusy={removing.isPending}
        error={removing.error}
        onConfirm={() => removing.mutate()}
        onClose={() => {
          setIsAsking(false);
          removing.reset();
        }}
      >
        <Text size="sm">The plant is shown without it from now on.</Text>
      </ConfirmDialog>
    </div>
  );
}
