// A process that has too little of something: every limit from none to enough, and whatever it was told is so.

import Dispatch
import QuireStorage
import QuireTesting
import Testing

#if canImport(Glibc)
  import Glibc
#endif

#if os(Linux)
  // One child at a time: a second one could inherit the first one's pipe.
  @Suite(.serialized) struct ScarceResourceTests {
    /// What a child said of its steps, by their names.
    private struct Account {
      var steps: [(name: String, outcome: String)] = []
      var isDone = false
      var refusals: Int { steps.count { $0.outcome != "done" } }

      init(_ lines: [String]) {
        isDone = lines.last == "done"
        for line in lines where line != "done" {
          let parts = line.split(separator: ":", maxSplits: 1)
          steps.append((String(parts[0]), parts.count > 1 ? String(parts[1].dropFirst()) : ""))
        }
      }

      subscript(name: String) -> String? { steps.first { $0.name == name }?.outcome }
    }

    private static let transactionCount = 30
    private static func rowCount(_ number: Int) -> Int { number % 10 == 9 ? 1000 : 2 }

    /// Runs a child in a folder of its own, and compares what it was told with what it leaves. It has half a minute.
    private func run(_ arguments: [String], user: UInt32? = nil) throws -> Account {
      let folder = try TestFolder()
      let text = arguments.joined(separator: " ")
      if let user {
        let parent = String(folder.path.dropLast("/test.quire".utf8.count))
        try #require(chown(parent, user, user) == 0)
      }
      let victim = try Victim(["scarce-child", folder.path] + arguments)
      let deadline = DispatchWorkItem { kill(victim.process, SIGKILL) }
      DispatchQueue.global().asyncAfter(deadline: .now() + 30, execute: deadline)
      let (lines, hasFailed) = victim.lines { _ in false }
      deadline.cancel()
      let account = Account(lines)
      let ended = account.steps.last.map { "\($0.name): \($0.outcome)" } ?? "nothing"
      #expect(!hasFailed && account.isDone, "\(text): the child trapped or did not end, after “\(ended)”")
      for step in account.steps where step.outcome.hasPrefix("not an error") {
        Issue.record("\(text): \(step.name) threw \(step.outcome)")
      }
      try check(account, folder.path, text)
      if account["backup"] == "done" { try check(account, folder.path + "-backup", "\(text), backup") }
      return account
    }

    private func check(_ account: Account, _ path: String, _ text: String) throws {
      guard access(path, F_OK) == 0 else {
        #expect(!account.steps.contains { $0.outcome == "done" }, "\(text): the database is gone")
        return
      }
      let engine = try StorageEngine(at: path)
      try engine.verify()
      let counts = try engine.read { tx in
        let tree = tx.tree(named: "t")
        return try (0..<Self.transactionCount).map { number in
          guard let tree else { return 0 }
          return try tx.rank(of: Int64(number + 1) << 16, in: tree) - tx.rank(of: Int64(number) << 16, in: tree)
        }
      }
      for (number, count) in counts.enumerated() {
        let (all, outcome) = (Self.rowCount(number), account["commit \(number)"])
        let isRight: Bool
        switch outcome {
        case "done": isRight = count == all
        // What was not told may have come to its end.
        case "outcomeUnknown": isRight = count == 0 || count == all
        case nil where !account.isDone: isRight = count == 0 || count == all
        default: isRight = count == 0
        }
        #expect(isRight, "\(text): commit \(number) was told \(outcome ?? "nothing"), and has \(count) of \(all) rows")
      }
      try engine.close()
    }

    @Test(
      "Too few descriptors are an error, and what was acknowledged is there",
      .enabled(if: TestSize.hasSlowTests, "slow"), .timeLimit(.minutes(10)))
    func descriptors() throws {
      let accounts = try (3...16).map { try run(["--descriptors", "\($0)"]) }
      #expect(accounts.first?["open"] != "done" && accounts.last?.refusals == 0)
    }

    @Test(
      "Too few threads are an error or do without, and what was acknowledged is there",
      .enabled(if: TestSize.hasSlowTests, "slow"), .timeLimit(.minutes(10)),
      .enabled(if: geteuid() == 0, "The limit does not count one process alone but for a user of its own."))
    func threads() throws {
      let user = UInt32(60_000 + getpid() % 5000)
      let accounts = try (1...12).map {
        try run(["--threads", "\($0)", "--user", "\(user)"], user: user)
      }
      #expect(accounts.last?.refusals == 0)
    }

    @Test(
      "Too little memory for pages and logs is an error, and what was acknowledged is there",
      .enabled(if: TestSize.hasSlowTests, "slow"), .timeLimit(.minutes(10)))
    func memory() throws {
      var granted = 0, refused = 0
      while granted < 100 {
        let account = try run(["--reservations", "\(granted)"])
        if account.refusals == 0 { break }
        refused += 1
        granted += 1
      }
      #expect(refused > 2 && granted < 100)
    }
  }
#endif
