// How much of the disk the files of a database may take beside what is in them.

/// What a database that is being written favours: speed, or a small footprint on the disk. When nobody has written for
/// a second, and closed, it is small in either case.
public enum DiskFootprint: Sendable {
  /// The log becomes as long as `StorageOptions.logLimit` allows: up to 64 MiB in each of two segments however little
  /// data there is, so that checkpoints are few.
  case fast
  /// The files take no more than twice the content, or the content and 4 MiB if that is more: the log has an eleventh
  /// of the content in each of its segments, 384 KiB at the least, and a checkpoint also begins when an eighth of the
  /// content, 512 KiB at the least, is to be written home. One transaction, and what snapshots that are held keep, come
  /// on top.
  ///
  /// The price is paid in bursts of commits that wait for no disk, which wait for checkpoints instead: on a disk that
  /// takes 3 ms for a sync, 64 rows replaced at random in each transaction went at 1 to 3 MiB/s instead of 22 to 105;
  /// in memory, where a sync takes no time, rows of 4,000 bytes took 37 µs instead of 10, and single rows from four
  /// threads 6.7 instead of 2.7. Measured on two cores that others were using as well.
  case small
}

/// The bounds of a small footprint, in bytes, for so much content.
struct SmallFootprint {
  /// What the rows take, in pages that are in use.
  let contentByteCount: Int

  /// How long a segment of the log may become, and the log without a checkpoint.
  var logByteCount: Int { max(384 << 10, contentByteCount / 32 * 3) & ~7 }
  /// Dirty pages that a checkpoint begins at.
  var softDirtyByteCount: Int { max(512 << 10, contentByteCount / 8) }
  /// Dirty pages at which transactions wait for it.
  var hardDirtyByteCount: Int { max(1 << 20, contentByteCount / 4) }
}
