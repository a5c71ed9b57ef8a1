// A part of the cache: a small table under a latch of its own.

internal import CQuirePlatform
internal import QuireStorage
internal import Synchronization

/// A part of the cache's table, alone on its lines of memory.
@safe struct CacheShard: ~Copyable {
  let state: Latch<CacheShardState>
  /// The bucket of a hash, and its first line of memory, which can be asked for before the latch is taken.
  private let bucketMask: UInt64
  private let hashes: UnsafeMutablePointer<UInt64>
  /// Two threads that use neighbouring parts are not to wait for each other's lines.
  private let padding: (UInt64, UInt64) = (0, 0)

  init(_ state: CacheShardState) {
    bucketMask = state.bucketMask
    unsafe hashes = unsafe state.hashes
    self.state = Latch(state)
  }

  @inline(__always) func prefetch(_ hash: UInt64) {
    unsafe quire_prefetch(hashes + CacheShardState.bucket(hash, bucketMask) &* CacheShardState.wayCount)
  }
}

/// A place in the table: one line of memory.
@safe struct CacheSlot {
  /// The commits whose snapshots show this object: from `since` up to `until`, which is not one of them.
  var since: UInt64
  var until: UInt64
  /// The entry, retained; nil in an empty slot.
  var entry: Unmanaged<CacheEntry>?
  var byteCount: UInt32
  /// Whether it was used since the hand went by.
  var isUsed: Bool
  /// What a reader of the object will touch.
  var lines: CachedLines

  static var empty: CacheSlot {
    unsafe CacheSlot(since: 0, until: 0, entry: nil, byteCount: 0, isUsed: false, lines: CachedLines())
  }
}

/// Addresses of what an object refers to, to be asked for ahead: to hand an object out is to count its references one
/// by one, and each count waits for its line of memory before the next one may begin. Never followed.
@safe struct CachedLines {
  static let count = 4
  typealias Addresses = (UInt, UInt, UInt, UInt)
  private var addresses: Addresses

  init() { addresses = (0, 0, 0, 0) }

  /// Those of the words of `object` that may be addresses of objects. A word of another meaning that looks like one
  /// costs a request for nothing.
  init(of object: UnsafeRawBufferPointer) {
    self.init()
    var count = 0
    for offset in stride(from: 0, to: object.count - 7, by: 8) where count < Self.count {
      // Without the bits that texts keep their kind in.
      let address = unsafe object.loadUnaligned(fromByteOffset: offset, as: UInt.self) & 0x0fff_ffff_ffff_ffff
      guard address % 8 == 0, address >> 16 != 0, address >> 48 == 0 else { continue }
      switch count {
      case 0: addresses.0 = address
      case 1: addresses.1 = address
      case 2: addresses.2 = address
      default: addresses.3 = address
      }
      count += 1
    }
  }

  /// With `entry` in the place of what there is none of: to ask for nothing would be to look for it first.
  func filled(with entry: CacheEntry) -> Self {
    let other = unsafe UInt(bitPattern: Unmanaged.passUnretained(entry).toOpaque())
    var filled = self
    if addresses.0 == 0 { filled.addresses.0 = other }
    if addresses.1 == 0 { filled.addresses.1 = other }
    if addresses.2 == 0 { filled.addresses.2 = other }
    if addresses.3 == 0 { filled.addresses.3 = other }
    return filled
  }

  @inline(__always) func prefetch() {
    unsafe quire_prefetch(UnsafeRawPointer(bitPattern: addresses.0))
    unsafe quire_prefetch(UnsafeRawPointer(bitPattern: addresses.1))
    unsafe quire_prefetch(UnsafeRawPointer(bitPattern: addresses.2))
    unsafe quire_prefetch(UnsafeRawPointer(bitPattern: addresses.3))
  }
}

/// The table of a part: buckets of eight slots; a row can be in one bucket only.
///
/// A hit touches the line with the bucket's hashes, that of one slot, the entry, and what its object refers to.
///
/// Invariants:
/// 1. A slot has a hash other than 0 if and only if it has an entry; the hash is that of the entry's collection and
///    key, and leads to this part and this bucket. No two slots have entries of one row.
/// 2. `count` and `byteCount` are the sums over the slots, and within their limits.
/// 3. Of the commits that `mark` was told of, each that has changed the row of a slot is at or before its `since`, or
///    at or after its `until`.
/// 4. `changed` of a bucket is the newest commit that `mark` was told of for any row of the bucket, or 0.
@safe struct CacheShardState: @unchecked Sendable {
  // Sendable: safe because the memory is touched under the latch that holds this value.
  static let wayCount = 8
  /// How many slots the hand goes over for one insertion.
  private static let sweepCount = 64
  /// Of the rows that others would have to go for, every so many is taken in though it was not asked for twice.
  private static let guestInterval = 16

  let bucketMask: UInt64
  let countLimit: Int
  let byteLimit: Int
  fileprivate let hashes: UnsafeMutablePointer<UInt64>
  private let slots: UnsafeMutablePointer<CacheSlot>
  /// For each bucket.
  private let changed: UnsafeMutablePointer<UInt64>
  /// For each bucket, the hash of the row that was looked for in vain the last time.
  private let wanted: UnsafeMutablePointer<UInt64>
  private var hand = 0
  private(set) var statistics = ObjectCacheStatistics()

  init(countLimit: Int, byteLimit: Int) {
    self.countLimit = countLimit
    self.byteLimit = byteLimit
    // A quarter more than needed, as buckets fill unevenly.
    var bucketCount = 1
    while bucketCount * Self.wayCount < countLimit + countLimit / 4 { bucketCount *= 2 }
    bucketMask = UInt64(bucketCount - 1)
    let slotCount = bucketCount * Self.wayCount
    unsafe hashes = Self.allocate(slotCount)
    unsafe slots = Self.allocate(slotCount)
    unsafe changed = .allocate(capacity: bucketCount)
    unsafe wanted = .allocate(capacity: bucketCount)
    unsafe hashes.initialize(repeating: 0, count: slotCount)
    unsafe slots.initialize(repeating: .empty, count: slotCount)
    unsafe changed.initialize(repeating: 0, count: bucketCount)
    unsafe wanted.initialize(repeating: 0, count: bucketCount)
  }

  /// Memory that begins with a line.
  private static func allocate<Element>(_ count: Int) -> UnsafeMutablePointer<Element> {
    unsafe UnsafeMutableRawPointer.allocate(byteCount: count &* MemoryLayout<Element>.stride, alignment: 64)
      .bindMemory(to: Element.self, capacity: count)
  }

  var slotCount: Int { (Int(truncatingIfNeeded: bucketMask) &+ 1) &* Self.wayCount }

  /// Gives the memory back; the table must be empty.
  func deallocate() {
    unsafe hashes.deallocate()
    unsafe slots.deallocate()
    unsafe changed.deallocate()
    unsafe wanted.deallocate()
  }

  @inline(__always) private func bucket(_ hash: UInt64) -> Int { Self.bucket(hash, bucketMask) }

  @inline(__always) static func bucket(_ hash: UInt64, _ mask: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &>> 8) & mask)
  }

  // MARK: Reading

  /// Calls `body` with the entry of a row if it shows what the snapshot `csn` does; `cleared` is the newest commit that
  /// may have removed all rows of the collection. Returns what `body` returns: whether it is of use. If not, notes in
  /// `place` whether the row is to be taken in.
  @inline(__always)
  mutating func use(
    _ place: inout CachePlace, _ key: String, csn: UInt64, cleared: UInt64, _ types: CachedTypes,
    _ body: (Unmanaged<CacheEntry>) -> Bool
  ) -> Bool {
    let collection = place.collection
    let isFound = unsafe use(place.hash, csn: csn, cleared: cleared, types, body) { entry in
      entry.collection == collection && key.hasSameBytes(as: entry.key)
    }
    if isFound { return true }
    place.isWanted = isWanted(place.hash, csn: csn)
    return false
  }

  /// As above for a row of which the number is known, and the hash that it had when it was taken in. Nothing is noted
  /// of one that is not there: it is looked for by its key next.
  @inline(__always)
  mutating func use(
    _ rowID: RowID, _ hash: UInt64, _ collection: UInt32, csn: UInt64, cleared: UInt64, _ types: CachedTypes,
    _ body: (Unmanaged<CacheEntry>) -> Bool
  ) -> Bool {
    unsafe use(hash, csn: csn, cleared: cleared, types, body) { $0.rowID == rowID && $0.collection == collection }
  }

  /// The entry of a hash that `isOfRow` says is the row's, if the snapshot shows it.
  @inline(__always)
  private mutating func use(
    _ hash: UInt64, csn: UInt64, cleared: UInt64, _ types: CachedTypes, _ body: (Unmanaged<CacheEntry>) -> Bool,
    isOfRow: (CacheEntry) -> Bool
  ) -> Bool {
    let first = bucket(hash) &* Self.wayCount
    for index in first..<first &+ Self.wayCount where unsafe hashes[index] == hash {
      unsafe slots[index].lines.prefetch()
      guard let entry = unsafe slots[index].entry,
        unsafe entry._withUnsafeGuaranteedRef({ entry in entry.types == types && isOfRow(entry) })
      else { continue }
      guard unsafe slots[index].since <= csn, unsafe csn < slots[index].until, unsafe slots[index].since >= cleared,
        unsafe body(entry)
      else { break }
      // Without a write where it says so already: the line stays with all threads that read it.
      if unsafe !slots[index].isUsed { unsafe slots[index].isUsed = true }
      statistics.hits &+= 1
      return true
    }
    return false
  }

  /// Whether a row that was looked for in vain is to be taken in. Where others would have to go for it, it must have
  /// been looked for before, or be lucky: of far more rows than there is room for, read in turns, hardly any would be
  /// found again, and taking them all in costs more than finding the few saves.
  private mutating func isWanted(_ hash: UInt64, csn: UInt64) -> Bool {
    statistics.misses &+= 1
    let bucket = bucket(hash)
    // A reader of an old snapshot, who could not take it in.
    guard unsafe changed[bucket] <= csn else { return false }
    if statistics.count < countLimit, statistics.byteCount &+ CacheEntry.overhead < byteLimit {
      let first = bucket &* Self.wayCount
      for index in first..<first &+ Self.wayCount where unsafe hashes[index] == 0 || slots[index].until != .max {
        return true
      }
    }
    if unsafe wanted[bucket] == hash || statistics.misses % Self.guestInterval == 0 { return true }
    unsafe wanted[bucket] = hash
    return false
  }

  // MARK: Changes

  /// Notes that the commit `csn` changes a row. A row of the same hash may be hit as well: that costs a miss.
  mutating func mark(_ hash: UInt64, csn: UInt64) {
    let bucket = bucket(hash)
    assert(unsafe changed[bucket] <= csn, "commits are told in another order than they have")
    unsafe changed[bucket] = csn
    let first = bucket &* Self.wayCount
    for index in first..<first &+ Self.wayCount where unsafe hashes[index] == hash {
      guard unsafe slots[index].until > csn else { continue }
      assert(unsafe slots[index].since <= csn, "an entry ends before it begins")
      unsafe slots[index].until = csn
      statistics.invalidations &+= 1
    }
  }

  /// Takes in the object that a reader of the snapshot `csn` has found. Adds what has to go for it to `released`, whose
  /// entries the caller lets go of outside of the latch: what they hold may run code of the app's when it goes.
  mutating func insert(
    _ entry: CacheEntry, _ lines: CachedLines, _ hash: UInt64, csn: UInt64, cleared: UInt64,
    _ released: inout CacheEntry?
  ) {
    let bucket = bucket(hash)
    // Something in the bucket was changed after the snapshot, perhaps this row.
    guard unsafe changed[bucket] <= csn, cleared <= csn, entry.byteCount <= byteLimit,
      let byteCount = UInt32(exactly: entry.byteCount)
    else { return }
    let index = place(for: entry, hash, in: bucket &* Self.wayCount)
    assert(index / Self.wayCount == bucket, "an entry gets a place in another bucket")
    release(index, &released)
    unsafe hashes[index] = hash
    unsafe slots[index] = unsafe CacheSlot(
      since: max(changed[bucket], cleared), until: .max, entry: .passRetained(entry), byteCount: byteCount,
      isUsed: false, lines: lines.filled(with: entry))
    statistics.count &+= 1
    statistics.byteCount &+= entry.byteCount
    statistics.insertions &+= 1
    makeRoom(sparing: index, &released)
    assert(statistics.count <= countLimit && statistics.byteCount <= byteLimit, "the cache is over its limits")
  }

  /// The slot for a row: where it is already, an empty one, one that no newer snapshot shows, or one that was not used
  /// since it was looked at the last time.
  private mutating func place(for entry: CacheEntry, _ hash: UInt64, in first: Int) -> Int {
    var (empty, dead): (Int?, Int?)
    for index in first..<first &+ Self.wayCount {
      let found = unsafe hashes[index]
      if found == 0 {
        empty = empty ?? index
        continue
      }
      if found == hash, let other = unsafe slots[index].entry,
        unsafe other._withUnsafeGuaranteedRef({
          $0.collection == entry.collection && $0.key.hasSameBytes(as: entry.key)
        })
      {
        return index
      }
      if unsafe slots[index].until != .max { dead = dead ?? index }
    }
    if let free = empty ?? dead { return free }
    statistics.evictions &+= 1
    for index in first..<first &+ Self.wayCount {
      if unsafe !slots[index].isUsed { return index }
      unsafe slots[index].isUsed = false
    }
    return first &+ Int(truncatingIfNeeded: hash &>> 40) % Self.wayCount
  }

  /// Evicts until the limits hold, at last the newest entry itself.
  private mutating func makeRoom(sparing newest: Int, _ released: inout CacheEntry?) {
    var budget = Self.sweepCount
    while statistics.count > countLimit || statistics.byteCount > byteLimit {
      hand = hand &+ 1 < slotCount ? hand &+ 1 : 0
      budget &-= 1
      guard budget >= 0 else {
        statistics.evictions &+= 1
        return release(newest, &released)
      }
      guard hand != newest, unsafe hashes[hand] != 0 else { continue }
      if unsafe slots[hand].isUsed, unsafe slots[hand].until == .max {
        unsafe slots[hand].isUsed = false
      } else {
        statistics.evictions &+= 1
        release(hand, &released)
      }
    }
  }

  /// Empties a slot.
  private mutating func release(_ index: Int, _ released: inout CacheEntry?) {
    guard let retained = unsafe slots[index].entry else { return }
    let entry = unsafe retained.takeRetainedValue()
    statistics.count &-= 1
    statistics.byteCount &-= unsafe Int(slots[index].byteCount)
    unsafe hashes[index] = 0
    unsafe slots[index] = .empty
    assert(statistics.count >= 0 && statistics.byteCount >= 0, "the cache holds less than nothing")
    assert(entry.next == nil && released !== entry, "an entry is let go of twice")
    entry.next = released
    released = entry
  }

  /// Empties all slots.
  mutating func removeAll(_ released: inout CacheEntry?) {
    for index in 0..<slotCount { release(index, &released) }
  }

  // MARK: Invariants

  /// Returns what is wrong, if something is; `isHere` says whether a hash belongs to this part.
  func checkInvariants(_ hash: CacheHash, _ isHere: (UInt64) -> Bool) -> String? {
    var (count, byteCount) = (0, 0)
    for index in 0..<slotCount {
      let slot = unsafe slots[index]
      guard let entry = unsafe slot.entry else {
        if unsafe hashes[index] != 0 { return "1: an empty slot has a hash" }
        continue
      }
      let found = unsafe hashes[index]
      let first = index / Self.wayCount * Self.wayCount
      let problem = unsafe entry._withUnsafeGuaranteedRef { entry -> String? in
        if hash.place(entry.collection, entry.key).hash != found { return "1: an entry has another hash" }
        if !isHere(found) || bucket(found) != index / Self.wayCount { return "1: an entry is in the wrong place" }
        if entry.byteCount != Int(slot.byteCount) { return "2: an entry counts as two things" }
        for other in first..<index where unsafe hashes[other] == found {
          let isSame = unsafe slots[other].entry?._withUnsafeGuaranteedRef { $0.key.hasSameBytes(as: entry.key) }
          if isSame == true { return "1: a row is in the table twice" }
        }
        return nil
      }
      if let problem { return problem }
      let newest = unsafe changed[bucket(found)]
      if slot.until != .max, slot.until > newest { return "4: a change is not noted in its bucket" }
      if slot.until < slot.since { return "3: a range ends before it begins" }
      count += 1
      byteCount += Int(slot.byteCount)
    }
    guard count == statistics.count, byteCount == statistics.byteCount else { return "2: the sums are wrong" }
    return count <= countLimit && byteCount <= byteLimit ? nil : "2: a limit is exceeded"
  }
}
