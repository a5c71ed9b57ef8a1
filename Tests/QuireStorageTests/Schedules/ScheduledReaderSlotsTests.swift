// Readers' announcements in chosen orders: nothing is freed under a reader.

import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

#if DEBUG
  /// A reader that begins while a writer publishes and looks who reads.
  private final class Beginning: @unchecked Sendable {
    // Sendable: safe because threads of a schedule run one at a time.
    let records: [SnapshotRecord]
    let slots: ReaderSlots
    var seen: UInt64?
    /// The snapshots that the writer has found nobody to read.
    var unread: Set<UInt64> = []

    init(_ pool: SnapshotPool) {
      records = (0..<3).map { pool.make(csn: CSN(UInt64($0)), trees: [], names: TreeNames([:])) }
      slots = ReaderSlots(records[0])
    }

    func read() { seen = (try? slots.begin())?.snapshot.csn.rawValue }

    func write() {
      for record in records.dropFirst() {
        slots.publish(record)
        unread.formUnion(Set(0..<record.csn.rawValue).subtracting(slots.announcedCSNs()))
      }
    }
  }

  @Suite("Readers' announcements in chosen orders") struct ScheduledReaderSlotsTests {
    @Test("A reader is on no snapshot that the writer has found nobody to read")
    func nothingIsFreedUnderAReader() throws {
      var seen: Set<UInt64> = []
      var next: ExhaustiveChooser? = ExhaustiveChooser(limit: 2)
      while let chooser = next {
        let pool = SnapshotPool()
        let both = Beginning(pool)
        let after = try ThreadSchedule(chooser).run { ScheduledGroup.run([{ both.read() }, { both.write() }]) }
        let csn = try #require(both.seen)
        seen.insert(csn)
        #expect(!both.unread.contains(csn), "the reader is on \(csn)")
        next = (after as? ExhaustiveChooser)?.next()
        withExtendedLifetime(pool) {}
      }
      #expect(seen == [0, 1, 2])
    }
  }
#endif
