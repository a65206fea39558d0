import type { EventType } from '@plant-shop/contracts/events';
import type { WebhookState } from '@plant-shop/contracts/notifications';
import type { OrderStatus } from '@plant-shop/contracts/store';
import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import { Column, CreateDateColumn, Entity, PrimaryColumn, VersionColumn } from 'typeorm';

/** A webhook endpoint. */
@Entity('webhooks')
export class WebhookEntity {
  @PrimaryColumn('uuid') readonly id: string;
  /** Sort key of lists. */
  @Column('bigint') readonly position: number;
  @Column('uuid') readonly ownerId: string;
  @Column('text') readonly url: string;
  /** For people. */
  @Column('text', { nullable: true }) readonly name: string | null;
  /** Limits of posts to one host apply to it. */
  @Column('text') readonly host: string;
  @Column('text', { array: true }) readonly eventTypes: readonly EventType[];
  @Column('bigint', { nullable: true }) readonly orderId: number | null;
  @Column('bigint', { nullable: true }) readonly plantId: number | null;
  @Column('text', { array: true, nullable: true }) readonly newStatuses: readonly OrderStatus[] | null;
  @Column('text', { nullable: true }) readonly description: string | null;
  /** The table also has `deleted` rows until the sweeper removes them. */
  @Column('text') readonly state: WebhookState;
  @Column('text', { nullable: true }) readonly disabledReason: 'gone' | 'failing' | null;
  @Column('timestamptz') readonly stateSince: Date;
  @Column('boolean') readonly madeForAll: boolean;
  @Column('boolean') readonly seesAll: boolean;
  @Column('boolean') readonly seesStock: boolean;
  @VersionColumn() readonly version: number;
  @CreateDateColumn({ type: 'timestamptz' }) readonly createdAt: Date;
}

export const migrationsFolder = new URL('../migrations/', import.meta.url);

export const notificationsDatabase = ({ databaseUrl, databaseCa, sandbox }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  sandbox,
  applicationName: 'notifications',
  poolSize,
  migrations: migrationsFolder,
  entities: [WebhookEntity],
});
