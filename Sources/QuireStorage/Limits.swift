// Everything has a limit, and every limit has a name here.

/// The limits of the format and of one open engine.
public enum Limits {
  /// The longest key of a tree with byte-string keys, in bytes; the same for every page size.
  public static let keyByteCount = 1024
  /// The longest value, in bytes: 1 GiB.
  public static let valueByteCount = 1 << 30
  /// The page sizes that a database may be created with, in bytes.
  public static let pageSizes = [4096, 8192, 16384, 32768]
  /// The most levels a tree can have. At the least fan-out of three this holds more entries than 48-bit pages can.
  package static let treeLevels = 40
  /// The most pages one open engine addresses: 256 TiB at 4 KiB.
  package static let pageCount: UInt64 = 1 << 36
  /// The most entries that a tree can have; no file is long enough for as many.
  package static let entryCount: UInt64 = 1 << 56
  /// The most dirty pages at one time.
  package static let frameCount = 1 << 31
  /// The longest body of one log record, and of all parts of one together, in bytes: a transaction that exceeds it
  /// commits by checkpoint.
  package static let recordBodyByteCount = 64 << 20
  /// The sizes a log segment may have, in bytes.
  package static let segmentByteCounts = (16 << 10)...(1 << 30)
  /// The shortest that a meta page may say a segment is, in bytes: as long as its full length was never needed.
  package static let leastSegmentByteCount = 8 << 10
  /// What the ids of trees are below. Ids are never given twice, so so many trees a database can ever have had.
  package static let treeID: Int64 = 1 << 60
  /// How many log segments a meta page can name.
  package static let segmentsInMetaPage = 4
  /// How many log files a database has at the most; a segment says which of them it lives in.
  package static let segmentFileCount = 8
  /// How many threads may run the bodies of async reads.
  package static let readerThreadCounts = 1...64
  /// The longest name that file systems take, in bytes.
  package static let fileNameByteCount = 255
  /// How many bytes the files beside a data file may add to its name.
  package static let fileNameSuffixByteCount = "-new-0123456789abcdef".utf8.count
  /// The longest name of a tree, in bytes of UTF-8.
  public static let treeNameByteCount = 255
}
