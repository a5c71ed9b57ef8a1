// quire-postgres member: one of many databases that share notes by way of a hub, for Tests/hub to kill.

#if Postgres
  import ArgumentParser
  internal import Foundation
  internal import QuireDatabase
  internal import QuirePostgres
  internal import Synchronization

  /// What members share: notes, to which all add marks.
  private struct Note: Codable, Sendable {
    var text: String
    var marks: [String]
  }

  extension RowCollection where Object == Note, Metadata == NoMetadata {
    fileprivate static var notes: Self { .init("notes") }
  }

  /// Writes and synchronizes at the same time.
  struct MemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "member",
      abstract: "Takes part in a hub and writes, until it is told to rest.",
      discussion: """
        For Tests/hub. Adds marks of its own to notes that all members share, and prints each when its commit is \
        acknowledged. Takes lines: rest ends the writing, marks prints what is there, and the end of the input ends it.
        """, shouldDisplay: false)

    @Argument(help: "The database, which is made if there is none.", completion: .file())
    var file: String
    @Argument(help: "The connection's text.")
    var connection: String
    @Option(help: "The name among the members.")
    var origin: String
    @Option(help: "What is drawn from.")
    var seed: UInt64 = 1
    @Option(help: "How many notes there are.")
    var notes = 200
    @Option(help: "Milliseconds between two transactions.")
    var pause = 20

    func run() throws {
      let database = try Database(at: file, options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
      let hub = try PostgresHub(database, over: ["notes"], as: origin, at: connection, rule: Self.bothMarks)
      Thread.detachNewThread {
        do { try hub.follow(every: .milliseconds(100), longestPause: .seconds(2), report: Self.report) } catch {
          giveUp(error)
        }
      }
      let isResting = Atomic(false)
      let writer = MemberWriter(database: database, origin: origin, noteCount: notes, seed: seed)
      let pause = Double(pause) / 1000
      Thread.detachNewThread {
        do {
          while !isResting.load(ordering: .acquiring) {
            try writer.addMark()
            Thread.sleep(forTimeInterval: pause)
          }
          say("resting")
        } catch {
          giveUp(error)
        }
      }
      while let line = readLine() {
        switch line {
        case "rest": isResting.store(true, ordering: .releasing)
        case "marks": try Self.printMarks(database)
        default: say("unknown: \(line)")
        }
      }
      hub.stop()
    }

    /// Joins the marks of both sides.
    private static func bothMarks(_ conflict: HubConflict) -> HubResolution {
      func marks(_ row: HubRow?) -> [RowValue] {
        guard case .record(let fields)? = row?.object.value, case .list(let marks)? = fields.last?.value else {
          return []
        }
        return marks
      }
      let (mine, theirs) = (marks(conflict.mine), marks(conflict.theirs))
      guard var row = conflict.theirs ?? conflict.mine, case .record(var fields)? = row.object.value, !fields.isEmpty
      else { return .theirs }
      fields[fields.count - 1].value = .list(theirs + mine.filter { !theirs.contains($0) })
      row.object = StoredHalf(.value(.record(fields)))
      return .row(row)
    }

    private static func report(_ event: HubEvent) {
      switch event {
      case .synchronized(let progress):
        say(
          "synchronized applied=\(progress.applied) pushed=\(progress.pushed) refused=\(progress.refused) "
            + "resolved=\(progress.resolved) undecided=\(progress.undecided) "
            + "unusable=\(progress.unusable) compared=\(progress.wasCompared)")
      case .unreachable(let error, let pause): say("unreachable pause=\(pause) \(error.message)")
      }
    }

    /// The marks of each note, in one line.
    private static func printMarks(_ database: Database) throws {
      let lines = try database.read { tx in
        tx[.notes].map { row in "\(row.key)=\(row.object.marks.joined(separator: ","))" }
      }
      say("marks \(lines.joined(separator: " "))")
    }
  }

  /// One line at a time goes out, whichever thread has it.
  private let output = Mutex(FileHandle.standardOutput)

  private func say(_ line: String) { output.withLock { try? $0.write(contentsOf: Data("\(line)\n".utf8)) } }

  /// Says what was thrown on a thread that nobody waits for, and ends the process.
  private func giveUp(_ error: any Error) -> Never {
    FileHandle.standardError.write(Data("quire-postgres: \(error)\n".utf8))
    exit(1)
  }

  /// Adds marks to notes, one in a transaction.
  private final class MemberWriter: Sendable {
    private struct State {
      var random: UInt64
      var number = 0
    }

    private let database: Database
    private let origin: String
    private let noteCount: Int
    private let life: String
    private let state: Mutex<State>

    init(database: Database, origin: String, noteCount: Int, seed: UInt64) {
      self.database = database
      self.origin = origin
      self.noteCount = noteCount
      // A process that was killed has made marks under the same numbers.
      life = String(UInt32.random(in: 0 ... .max), radix: 36)
      state = Mutex(State(random: seed | 1))
    }

    func addMark() throws {
      let (key, mark) = state.withLock { state in
        state.random = state.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        state.number += 1
        return ("n\((state.random >> 33) % UInt64(noteCount))", "\(origin).\(life).\(state.number)")
      }
      try database.write { tx in
        var note = try tx[.notes].get(key) ?? Note(text: key, marks: [])
        note.marks.append(mark)
        try tx[.notes].set(note, for: key)
      }
      say("mark \(mark)")
    }
  }
#endif
