"""What to use in place of the models of Turi Create, which are out of scope."""

from __future__ import annotations

_OUT_OF_SCOPE = "models are out of scope"
# For each model the class of scikit-learn, and that of pyspark.ml; None where it has none.
_SUPERVISED = {
    "boosted_trees": ("sklearn.ensemble.HistGradientBoostingRegressor", "pyspark.ml.regression.GBTRegressor"),
    "boosted_trees_classifier": ("sklearn.ensemble.HistGradientBoostingClassifier", "pyspark.ml.classification.GBTClassifier"),
    "boosted_trees_regression": ("sklearn.ensemble.HistGradientBoostingRegressor", "pyspark.ml.regression.GBTRegressor"),
    "classifier": ("sklearn.linear_model.LogisticRegression", "pyspark.ml.classification.LogisticRegression"),
    "decision_tree_classifier": ("sklearn.tree.DecisionTreeClassifier", "pyspark.ml.classification.DecisionTreeClassifier"),
    "decision_tree_regression": ("sklearn.tree.DecisionTreeRegressor", "pyspark.ml.regression.DecisionTreeRegressor"),
    "linear_regression": ("sklearn.linear_model.Ridge", "pyspark.ml.regression.LinearRegression"),
    "logistic_classifier": ("sklearn.linear_model.LogisticRegression", "pyspark.ml.classification.LogisticRegression"),
    "nearest_neighbor_classifier": ("sklearn.neighbors.KNeighborsClassifier", None),
    "random_forest_classifier": ("sklearn.ensemble.RandomForestClassifier", "pyspark.ml.classification.RandomForestClassifier"),
    "random_forest_regression": ("sklearn.ensemble.RandomForestRegressor", "pyspark.ml.regression.RandomForestRegressor"),
    "regression": ("sklearn.linear_model.Ridge", "pyspark.ml.regression.LinearRegression"),
    "svm_classifier": ("sklearn.svm.LinearSVC", "pyspark.ml.classification.LinearSVC"),
}
_UNSUPERVISED = {
    "clustering": ("sklearn.cluster.KMeans", "pyspark.ml.clustering.KMeans"),
    "dbscan": ("sklearn.cluster.DBSCAN", None),
    "kmeans": ("sklearn.cluster.KMeans", "pyspark.ml.clustering.KMeans"),
    "nearest_neighbors": ("sklearn.neighbors.NearestNeighbors", None),
}
_RECOMMENDERS = (
    *("factorization_recommender", "item_content_recommender", "item_similarity_recommender", "popularity_recommender"),
    "ranking_factorization_recommender",
)
_OTHERS = {
    "activity_classifier": "make features of windows, by sf.window() or groupby(), and train sklearn.ensemble.RandomForestClassifier on them",
    "distances": "distances of numbers are scipy.spatial.distance.cdist(sf[names].to_numpy(), other.to_numpy())",
    "drawing_classifier": "train a network of torch on batches of sf[names].to_numpy()",
    "feature_engineering": "expressions and apply() compute columns; sklearn.preprocessing and pyspark.ml.feature have classes for the rest",
    "extensions": "a function of your own is applied by apply(), or is a plug-in (docs/extending.md)",
    "load_model": "only Turi Create reads its models: train one of scikit-learn or pyspark.ml, and save it with joblib or its save()",
    "text_classifier": "sklearn.feature_extraction.DictVectorizer().fit_transform(text_analytics.count_words(sf['text'])) gives features of texts for"
    " sklearn.linear_model.LogisticRegression",
    "topic_model": "sklearn.decomposition.LatentDirichletAllocation takes"
    " sklearn.feature_extraction.DictVectorizer().fit_transform(text_analytics.count_words(sf['text'])), and pyspark.ml.clustering.LDA is for Spark",
}
_ASSEMBLED = "VectorAssembler(inputCols=features, outputCol='features').transform(sf.to_spark())"
RECOMMENDER_HINT = (
    f"{_OUT_OF_SCOPE}: on Spark pyspark.ml.recommendation.ALS(userCol='user_id', itemCol='item_id', ratingCol='rating').fit(sf.to_spark()),"
    " with ints as ids; recommender.util.random_split_by_user() and precision_recall_by_user() are here"
)
"""What to use in place of a recommender."""


def _hint(classes: tuple[str, str | None], has_target: bool) -> str:
    """Return how to train a model with a class of scikit-learn, and with one of pyspark.ml."""
    here, on_spark = classes
    fitted = "fit(sf[features].to_numpy(), sf[target].to_numpy())" if has_target else "fit(sf[features].to_numpy())"
    result = f"{_OUT_OF_SCOPE}: use {here}().{fitted}"
    label = ", labelCol=target" if has_target else ""
    return result if on_spark is None else f"{result}, or on Spark {on_spark}(featuresCol='features'{label}).fit({_ASSEMBLED})"


MODEL_HINTS = (
    {name: _hint(classes, True) for name, classes in _SUPERVISED.items()}
    | {name: _hint(classes, False) for name, classes in _UNSUPERVISED.items()}
    | dict.fromkeys(_RECOMMENDERS, RECOMMENDER_HINT)
    | {name: f"{_OUT_OF_SCOPE}: {advice}" for name, advice in _OTHERS.items()}
)
"""By the name of a module of Turi Create: what to use in its place."""
