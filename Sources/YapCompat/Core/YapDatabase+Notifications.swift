// Making and posting the notifications of commits.

internal import Foundation
internal import Quire

/// Under which the step of a long-lived read stands that has come past the commit.
private let stepKey = "YapCompat.step"

extension Notification {
  /// The commit that it tells of; nil for notifications of others.
  var commit: Commit? { userInfo?[CommitInfo.commitKey] as? Commit }
  /// The step of a long-lived read that has come past it; nil for notifications that were posted.
  var step: PinnedStep? { userInfo?[stepKey] as? PinnedStep }
  /// What that has changed.
  var changes: ChangeSet? { commit?.changes }
}

extension YapDatabase {
  /// The notification of a commit, and of the step of a long-lived read that has come past it. O(changes), unless it is
  /// being posted at the moment.
  func notification(_ commit: Commit, _ step: PinnedStep? = nil) -> Notification {
    var info = posts.info(of: commit) { CommitInfo(commit: $0, extensionNames: extensions.names).dictionary }
    info[stepKey] = step
    return Notification(name: .YapDatabaseModified, object: self, userInfo: info)
  }

  /// Posts the notifications of the commits that are there, in their order. On the main thread.
  func postPending() {
    posts.beginPosting()
    while let commit = posts.takeNext() {
      NotificationCenter.default.post(notification(commit))
      posts.forget(commit)
    }
  }

  /// Posts that a database was closed on the main thread.
  static func postClosed(_ path: String) {
    DispatchQueue.main.async {
      let url = URL(fileURLWithPath: path)
      let info: [AnyHashable: Any] = [
        YapDatabaseUrlKey: url, YapDatabaseUrlWalKey: URL(fileURLWithPath: path + "-log0"),
      ]
      NotificationCenter.default.post(name: .YapDatabaseClosed, object: nil, userInfo: info)
    }
  }
}
