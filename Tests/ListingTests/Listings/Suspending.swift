// The listings of “Platforms”.

import Foundation
import Quire

func didEnterBackground(_ db: Database) async throws {
  do { try await db.suspend(timeout: .seconds(3)) } catch let error as DatabaseError where error.code == .failStop {
    // The disk has failed before. The file is given up all the same, and resuming finds what it has.
  }
}

func willEnterForeground(_ db: Database) async throws {
  while true {
    do { try await db.resume() } catch let error as DatabaseError where error.code == .alreadyOpen {
      // An extension is at work.
      try await Task.sleep(for: .milliseconds(100))
      continue
    }
    return
  }
}

func protectedOptions() -> Database.Options {
  var options = Database.Options()
  options.fileProtection = .completeUntilFirstUserAuthentication
  return options
}

#if canImport(UIKit)
  import UIKit

  @MainActor final class BackgroundTime {
    private var task = UIBackgroundTaskIdentifier.invalid

    func suspend(_ db: Database) {
      task = UIApplication.shared.beginBackgroundTask(withName: "Suspending the database") { self.end() }
      Task {
        try? await didEnterBackground(db)
        end()
      }
    }

    private func end() {
      UIApplication.shared.endBackgroundTask(task)
      task = .invalid
    }
  }

  func suspendInExtension(_ db: Database) {
    ProcessInfo.processInfo.performExpiringActivity(withReason: "Suspending the database") { isExpired in
      if !isExpired { try? db.suspend(timeout: .seconds(3)) }
    }
  }
#endif
