// Everything has a limit, and the limits of the object layer have their names here.

internal import QuireStorage

/// The limits of the object layer.
public enum Limits {
  /// The longest key of a row, in bytes of UTF-8.
  public static let rowKeyByteCount = QuireStorage.Limits.keyByteCount - CollectionID.byteCount
  /// The longest name of a collection, in bytes of UTF-8.
  public static let collectionNameByteCount = QuireStorage.Limits.keyByteCount
  /// The most bytes that an encoded object may have, before compression.
  ///
  /// It bounds what decoding allocates on the word of a stored length, so it can grow in later versions, never shrink.
  public static let valueByteCount = (1 << 30) - rowOverhead
  /// The most bytes that a row takes beside its object and its metadata.
  static let rowOverhead = 4096
  /// How many rows an enumeration fetches ahead at the most.
  static let fetchAhead = 16
  /// The most bytes of changes that are kept for pinned snapshots which lag behind.
  package static let historyByteCount = 64 << 20
  /// The longest name of an extension, and of a value of one, in bytes of UTF-8.
  public static let extensionNameByteCount = 512
  /// The longest name of a tree of an extension, in bytes of UTF-8.
  public static let extensionTreeNameByteCount = 200
  /// The longest name of a change feed, in bytes of UTF-8.
  public static let feedNameByteCount = 200
  /// The most bytes of an entry of a change feed that tells of more than one change.
  static let feedEntryByteCount = 64 << 10
  /// The most bytes of values that one change brings into an entry of a feed.
  static let feedValueByteCount = valueByteCount
  /// How many hooks may run one inside the other, each because of what the one before has changed.
  public static let hookDepth = 16
  /// How many rows are handed to a hook together when many are removed.
  public static let removalBatchCount = 512
  /// From how many neighbours in a tree on a range is removed, with less work than each of its entries.
  static let rangeRemovalCount = 8
  /// How many times extensions may change rows because others did, when a transaction ends.
  static let settleRounds = 64
  /// How many rows a step of building an extension, or of rewriting a collection, takes in, and how many bytes of them.
  static let buildStepRowCount = 2048
  static let buildStepByteCount = 1 << 20
  /// How many keys of a collection an observed read may look at, and how many parts of it, before the whole collection
  /// counts as read.
  static let observedKeyCount = 8192
  static let observedIntervalCount = 64
  /// How many commits are kept for an observed read that takes long, before it counts as outrun.
  static let observedCommitCount = 1024
  /// How many bytes of rows a load collects before it stores them.
  static let loadBatchByteCount = 16 << 20
  /// How many rows that could not be rewritten are told one by one.
  static let reportedFailureCount = 1000
  /// The most bytes that a dictionary may have: as far as LZ4 looks back.
  package static let dictionaryByteCount = 64 << 10
  /// The most bytes of a dictionary that is trained. LZ4 remembers 4,096 places; a longer one saves a thirtieth more,
  /// and takes more of the processor's cache.
  static let trainedDictionaryByteCount = 16 << 10
  /// The most bytes that a value may have which is compressed with a dictionary. Longer ones gain little by it.
  package static let dictionaryValueByteCount = 32 << 10
  /// How many rows may be encoded inside one another, by coders that store rows themselves.
  static let encodingDepth = 32

  /// The most values inside one another that a coder writes or reads.
  ///
  /// It bounds the stack that bytes from disk can make a decoder use.
  package static let codingDepth = 512

  /// The most bytes that values inside one another may have of their own, without what they refer to, where they are
  /// encoded: as much as decoding has stack for in every build. Values of up to `plainValueByteCount` do not count:
  /// where nothing is optimized, decoding takes 14 times their bytes, which are 15 MiB of 64 for 512 of them.
  static let nestedByteCount = 2 << 20
  static let plainValueByteCount = 2 << 10

  /// How much stack must be free for each byte of a value that is larger than that: 4 are measured for encoding and 14
  /// for decoding where nothing is optimized.
  static let stackPerByte = 16

  /// The most names in the schema of a collection's objects; further ones are spelled out in each row.
  package static let fieldNameCount = 65_535

  /// The most bytes of a name in a schema; longer ones are spelled out in each row.
  package static let fieldNameByteCount = 1_024

  /// How many fields a decoder looks at for one that does not come next, before it makes an index of the record.
  package static let fieldScanCount = 64
}
